import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, fetchHttp, type Server, startServer, svcCommand, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { Backend, client, configOf, shown } from '../backend.ts'
import { repeat, type SoakPart, type SoakRun } from './soak-part.ts'

const READERS = 6
const READS_PER_ROUND = 400
const PATIENCE_MS = 120_000
/** What all processes together may grow by from the second quarter of a run to its last. */
const GROWTH_BYTES = 96 * 1024 * 1024

/** A server under load, whose readers complain of every answer that is wrong. */
class PagesUnderLoad {
  readonly failures: string[] = []
  reads = 0
  readonly #server: Server
  readonly #backend: Backend
  readonly #root: string
  readonly #readers: Promise<void>[]
  #least = 0
  #edits = 0
  #isOver = false

  private constructor(server: Server, backend: Backend, root: string) {
    this.#server = server
    this.#backend = backend
    this.#root = root
    this.#readers = Array.from({ length: READERS }, (_, i) => this.#read(i))
  }

  static async start({ cleanup }: SoakRun): Promise<PagesUnderLoad> {
    const backend = await Backend.start(cleanup)
    const root = tempSite(cleanup, {
      'app/page.tsx': backend.page('home', 'export const revalidate = 5'),
      'app/edited/page.tsx': editedPage(0),
      'app/search/page.tsx': backend.page('search', '', 'await props.searchParams'),
    })
    const config = configOf(cleanup, backend, []).concat(
      `[[sites]]\nid = "one"\nroot = "${root}"\nhostnames = ["one.localhost"]\nfetch_allow = ["${backend.host}"]\n`,
    )
    const server = await startServer(cleanup, { config, env: { SVC_MASQUERADE_ROUTE_WATCH_MS: '200' } })
    await client(server)('/')
    return new PagesUnderLoad(server, backend, root)
  }

  async purge(): Promise<void> {
    const rendered = this.#backend.count('home')
    const answer = await fetchHttp(`${this.#server.url}/__svc/admin/api/cache/purge?tag=route:one:/`, { method: 'POST' })
    assert.equal(answer.status, 200, answer.text)
    this.#least = Math.max(this.#least, rendered + 1)
  }

  async edit(): Promise<void> {
    const text = editedPage(++this.#edits)
    writeFileSync(join(this.#root, 'app/edited/page.tsx'), text)
    const get = client(this.#server)
    await waitFor('the edit', async () => shown((await get('/edited')).text) === this.#edits, PATIENCE_MS)
  }

  async addRoute(): Promise<void> {
    writeFiles(this.#root, { [`app/added/r${++this.#edits}/page.tsx`]: editedPage(this.#edits) })
    const get = client(this.#server)
    await waitFor('the new route', async () => shown((await get(`/added/r${this.#edits}`)).text) === this.#edits, PATIENCE_MS)
  }

  async restartRenderers(): Promise<void> {
    const url = `${this.#server.url}/__svc/admin/api/workers/restart?wait=1`
    const answer = await fetchHttp(url, { method: 'POST', timeoutMs: PATIENCE_MS })
    assert.ok(answer.status === 200 || answer.status === 202, answer.text)
  }

  async reload(cleanup: SoakRun['cleanup']): Promise<void> {
    const reload = new Child(cleanup, svcCommand, ['reload', '--config', this.#server.configFile ?? ''])
    assert.equal((await reload.exited).code, 0, reload.stderr)
  }

  /** Resident memory of all processes in bytes. */
  async memory(): Promise<number> {
    const { text } = await fetchHttp(`${this.#server.url}/__svc/metrics`)
    return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1] ?? Number.NaN)
  }

  /** Fails when a reader has complained, with what the server said last. */
  check(): void {
    if (this.failures.length === 0) return
    const { stdout, stderr } = this.#server.child
    const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line))
    assert.fail([...this.failures.slice(0, 5), ...lines.slice(-10)].join('\n'))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#readers)
  }

  async #read(reader: number): Promise<void> {
    const get = client(this.#server)
    for (let turn = 0; !this.#isOver; turn++) {
      const least = this.#least
      // One reader in three floods with queries that nobody asks for twice.
      const path = reader % 3 === 2 ? `/search?q=${reader}-${turn}` : '/'
      const answer = await get(path).catch((error: unknown) => ({ status: 0, text: String(error) }))
      this.reads++
      if (answer.status !== 200) this.failures.push(`${path}: status ${answer.status} ${answer.text}`)
      else if (path === '/' && !(shown(answer.text) >= least)) this.failures.push(`${shown(answer.text)} after ${least}`)
    }
  }
}

function editedPage(edit: number): string {
  return `export default function Page() { return <p>{${edit}}</p> }\n`
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** Edits, purges, reloads and rolling restarts under load. */
export const pages: SoakPart = {
  about: 'stored pages under load, edits, purges, reloads and rolling restarts: none stale, none failed, flat memory',
  rounds: 120,
  async run(run) {
    const load = await PagesUnderLoad.start(run)
    const actions = [
      () => load.purge(),
      () => load.purge(),
      () => load.edit(),
      () => load.addRoute(),
      () => load.reload(run.cleanup),
      () => load.restartRenderers(),
    ]
    const memory: number[] = []
    const done = await repeat(run, async () => {
      const seen = load.reads
      await actions[Math.floor(run.random() * actions.length)]?.()
      await waitFor('reads', () => load.reads > seen + READS_PER_ROUND, PATIENCE_MS)
      load.check()
      memory.push(await load.memory())
      return `${load.reads} reads, ${Math.round((memory.at(-1) ?? 0) / 1_048_576)} MB`
    })
    await load.stop()
    load.check()
    const quarter = Math.floor(memory.length / 4)
    if (quarter > 5) {
      const [early, late] = [middleOf(memory.slice(quarter, 2 * quarter)), middleOf(memory.slice(-quarter))]
      assert.ok(late < early + GROWTH_BYTES, `memory grew from ${early} to ${late} bytes`)
    }
    return done
  },
}
