import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { fetchHttp, type LoadReport, PROCESS_WAIT_MS, startLoad, startServer, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { type HostileChange, hostileModules, hostileTrees, remove } from '../hostile-files.ts'
import { MemoryWatch, megabytes, type Settled } from './memory-watch.ts'
import { repeat, type SoakPart, type SoakRun } from './soak-part.ts'

const REQUESTS_PER_ROUND = 50
/** Rounds in which code is compiled and caches fill. */
const WARM_UP_ROUNDS = 20
/** The memory that the master may have more at the end than after the warm-up, its garbage collected: it knows a few more file names. */
const GROWTH_BYTES = 64 * 1024 * 1024
/** Only ends a run that hangs. */
const PATIENCE_MS = 120_000

/** Something that a hostile tenant does to its site in a round. `site` is its directory. */
export type HostileAct = (site: string, run: SoakRun) => Promise<void>

/** Places of modules that a scan, the compiler or a request looks at. */
const moduleFiles = [
  'app/sitemap.ts',
  'app/icon.tsx',
  'app/layout.tsx',
  'app/a/page.tsx',
  'app/a/route.ts',
  'next.config.mjs',
  'proxy.ts',
]

function pick<Value>(values: readonly Value[], random: () => number): Value {
  return values[Math.floor(random() * values.length)] as Value
}

async function replace(site: string, name: string, put: HostileChange): Promise<void> {
  await remove(join(site, name))
  writeFiles(site, { 'app/a/keep': '' })
  await put(join(site, name))
}

/** Acts of hostile tenants, by name. Each leaves room for the others. */
export const hostileActs: Readonly<Record<string, HostileAct>> = {
  module: (site, run) => replace(site, pick(moduleFiles, run.random), pick(Object.values(hostileModules), run.random)),
  tree: (site, run) => replace(site, `app/t${Math.floor(run.random() * 3)}`, pick(Object.values(hostileTrees), run.random)),
  clear: async (site) => {
    for (const name of [...moduleFiles, 'app/t0', 'app/t1', 'app/t2']) await remove(join(site, name))
  },
}

/** A site whose files change without end among the worst that a tenant can put there; its neighbours must not notice. */
export const hostileTenant: SoakPart = {
  about: 'a tenant whose files are huge, no files, or crash the parser: no request of a neighbour fails',
  rounds: 300,
  async run(run) {
    const { cleanup } = run
    const page = (text: string) =>
      `export const dynamic = 'force-dynamic'\nexport default function Page() { return <p>${text}</p> }`
    const hostile = tempSite(cleanup, { 'app/page.tsx': page('hostile'), 'app/a/keep': '' })
    const neighbour = tempSite(cleanup, { 'app/page.tsx': page('unharmed') })
    const site = (id: string, dir: string) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${dir}"\n`
    const config = `[logging]\naccess = false\n[render]\ntimeout_ms = 5000\n${site('hostile', hostile)}${site('neighbour', neighbour)}`
    const server = await startServer(cleanup, { config, env: { SVC_MASQUERADE_ROUTE_WATCH_MS: '200' } })
    await waitFor(
      'the neighbour',
      async () => (await fetchHttp(server.url, { host: 'neighbour.localhost' })).status === 200,
      PROCESS_WAIT_MS,
    )
    const check = ({ status, text }: { status: number; text: string }) =>
      status === 200 && text.includes('unharmed') ? undefined : `${status} ${text.slice(0, 200)}`
    const load = startLoad(cleanup, {
      pauseMs: 0,
      url: `${server.url}/`,
      host: 'neighbour.localhost',
      keepAlive: 2,
      fresh: 1,
      check,
    })
    // A connection that is kept may be closed by the server in the very moment in which it is used again.
    const agent = new Agent({ keepAlive: false })
    const memory = new MemoryWatch(server.ready.pid)
    let early: Settled | undefined
    const rounds = await repeat(run, async (round) => {
      if (round === WARM_UP_ROUNDS) early = await memory.settled()
      const act = pick(Object.keys(hostileActs), run.random)
      await hostileActs[act]?.(hostile, run)
      const answers = ['/', '/a', '/sitemap.xml', '/icon'].map(async (path) => {
        const { status } = await fetchHttp(server.url + path, { host: 'hostile.localhost', agent, timeoutMs: PATIENCE_MS })
        return status
      })
      const seen = load.done()
      await waitFor('requests of the neighbour', () => load.done() >= seen + REQUESTS_PER_ROUND, PATIENCE_MS)
      return `${act}: ${(await Promise.all(answers)).join(' ')}, ${memory.take()}`
    })
    const report: LoadReport = await load.stop()
    run.report(memory.summary())
    const before = early?.roles.master
    const after = (await memory.settled()).roles.master
    run.report(`master at rest: ${before === undefined ? 'unknown' : megabytes(before)} -> ${megabytes(after)} MB`)
    assert.ok(before === undefined || after <= before + GROWTH_BYTES, 'the memory of the master grows')
    const { stderr } = server.child
    const deaths = stderr.split('\n').filter((line) => /died|kill|replac|uncaught|fatal/i.test(line))
    assert.deepEqual(report.failures.slice(0, 10), [], deaths.slice(-20).join('\n'))
    return rounds
  },
}
