import assert from 'node:assert/strict'
import {
  Child,
  type Cleanup,
  fetchHttp,
  type Load,
  type Server,
  startLoad,
  startServer,
  svcCommand,
  tempSite,
  waitFor,
} from '@svc/testkit'
import { repeat, type SoakPart } from './soak-part.ts'

interface ListedHost {
  readonly pid: number
  readonly state: string
}

/** A server with two render hosts, a spare, and a load of GETs that all need a render. */
export interface KilledServer {
  readonly server: Server
  readonly loads: readonly Load[]
}

const files = {
  'app/page.tsx': "export const dynamic = 'force-dynamic'\nexport default function Page() { return <p>hello</p> }",
  'app/data/route.ts': "export const dynamic = 'force-dynamic'\nexport const GET = () => new Response('data')",
  'middleware.ts': `export const config = { matcher: '/guarded' }
export default function middleware(request: Request) { void request.headers.get('x-a') }`,
  'app/guarded/page.tsx': "export const dynamic = 'force-dynamic'\nexport default function Page() { return <p>guarded</p> }",
}
const SITES = ['one', 'two', 'three']
const PATHS = ['/', '/data', '/guarded']

/** Starts the server and its load: each path of each site, over connections that stay and over fresh ones. */
export async function startKilledServer(t: Cleanup): Promise<KilledServer> {
  const sites = SITES.map((id) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${tempSite(t, files)}"\n`)
  const limits =
    '[render]\nhosts = 2\ntimeout_ms = 60000\n\n[server]\nlisten = "127.0.0.1:0"\nworkers = 2\nrequest_timeout_secs = 120\n'
  const server = await startServer(t, { config: `${limits}\n${sites.join('\n')}` })
  const targets = SITES.flatMap((id) => PATHS.map((path) => ({ url: `${server.url}${path}`, host: `${id}.localhost` })))
  for (const { url, host } of targets) assert.equal((await fetchHttp(url, { host })).status, 200, url)
  // One client each: what is in flight once a load has gone on began after the last kill.
  const clients = [
    { keepAlive: 1, fresh: 0 },
    { keepAlive: 0, fresh: 1 },
  ]
  const loads = targets.flatMap((target) =>
    clients.map((client) => startLoad(t, { pauseMs: 5, ...target, ...client, timeoutMs: 120_000 })),
  )
  return { server, loads }
}

async function hostsOf(t: Cleanup, server: Server): Promise<readonly ListedHost[]> {
  const child = new Child(t, svcCommand, ['status', '--json', '--config', server.configFile ?? ''])
  assert.equal((await child.exited).code, 0, child.stderr)
  return (JSON.parse(child.stdout) as { hosts: ListedHost[] }).hosts
}

/** Kills every process that renders, the ones that are still starting too, and waits until each load has gone on. Returns how many. */
export async function killAllHosts(t: Cleanup, { server, loads }: KilledServer): Promise<number> {
  const hosts = (await hostsOf(t, server)).filter(({ pid }) => pid > 0)
  for (const { pid } of hosts) process.kill(pid, 'SIGKILL')
  const before = loads.map((load) => load.done())
  await waitFor('each load to go on', () => loads.every((load, i) => load.done() > (before[i] ?? 0) + 2), 120_000)
  return hosts.length
}

/** Ends the load. Rejects when a request failed. */
export async function endLoads({ loads }: KilledServer): Promise<number> {
  const reports = await Promise.all(loads.map((load) => load.stop()))
  assert.deepEqual(reports.flatMap(({ failures }) => failures).slice(0, 5), [])
  return reports.reduce((sum, { ok }) => sum + ok, 0)
}

/** A server lives for so many rounds: deaths that follow each other let it wait longer and longer before it starts hosts. */
const ROUNDS_PER_SERVER = 6

/** Every render host and the spare are killed in one go, again and again. */
export const hostKills: SoakPart = {
  about: 'kill -9 of every render host and the spare at once, under load; every GET is answered with 200',
  rounds: 120,
  async run(run) {
    let current: KilledServer | undefined
    let answered = 0
    const done = await repeat(run, async (number) => {
      current ??= await startKilledServer(run.cleanup)
      const killed = await killAllHosts(run.cleanup, current)
      if (number % ROUNDS_PER_SERVER === 0) {
        answered += await endLoads(current)
        await current.server.child.stop()
        current = undefined
      }
      return `${killed} killed, ${answered} answered`
    })
    if (current !== undefined) await endLoads(current)
    return done
  },
}
