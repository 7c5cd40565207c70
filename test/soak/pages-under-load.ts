import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, fetchHttp, type Server, startServer, svcCommand, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { bearer } from '../../packages/auth/test/admin-users.ts'
import { Backend, client, configOf, shown } from '../backend.ts'
import type { SoakRun } from './soak-part.ts'

const READERS = 6
/** None of these waits is what is measured: they only end a run that hangs. */
const PATIENCE_MS = 120_000

function editedPage(edit: number): string {
  return `export default function Page() { return <p>{${edit}}</p> }\n`
}

/** A server under load, whose readers complain of every answer that is wrong. */
export class PagesUnderLoad {
  readonly failures: string[] = []
  reads = 0
  readonly #server: Server
  readonly #backend: Backend
  readonly #root: string
  readonly #readers: Promise<void>[]
  #least = 0
  #edits = 0
  #added: string | undefined
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
    const config = configOf(cleanup, backend, [], '[logging]\naccess = false\n').concat(
      `[[sites]]\nid = "one"\nroot = "${root}"\nhostnames = ["one.localhost"]\nfetch_allow = ["${backend.host}"]\n`,
    )
    const server = await startServer(cleanup, { config, env: { SVC_MASQUERADE_ROUTE_WATCH_MS: '200' } })
    await client(server)('/')
    return new PagesUnderLoad(server, backend, root)
  }

  async purge(): Promise<void> {
    const rendered = this.#backend.count('home')
    const answer = await fetchHttp(`${this.#server.url}/__svc/admin/api/cache/purge?tag=route:one:/`, {
      method: 'POST',
      headers: await bearer('root'),
    })
    assert.equal(answer.status, 200, answer.text)
    this.#least = Math.max(this.#least, rendered + 1)
  }

  async edit(): Promise<void> {
    const text = editedPage(++this.#edits)
    writeFileSync(join(this.#root, 'app/edited/page.tsx'), text)
    const get = client(this.#server)
    await waitFor('the edit', async () => shown((await get('/edited')).text) === this.#edits, PATIENCE_MS)
  }

  /** Adds a route and takes away the one that was added before: there are never more of them. */
  async swapRoute(): Promise<void> {
    const before = this.#added
    const added = `r${++this.#edits}`
    writeFiles(this.#root, { [`app/added/${added}/page.tsx`]: editedPage(this.#edits) })
    const get = client(this.#server)
    await waitFor('the new route', async () => shown((await get(`/added/${added}`)).text) === this.#edits, PATIENCE_MS)
    this.#added = added
    if (before === undefined) return
    rmSync(join(this.#root, 'app/added', before), { recursive: true })
    await waitFor('the end of a route', async () => (await get(`/added/${before}`)).status === 404, PATIENCE_MS)
  }

  async restartRenderers(): Promise<void> {
    const url = `${this.#server.url}/__svc/admin/api/workers/restart?wait=1`
    const answer = await fetchHttp(url, { method: 'POST', timeoutMs: PATIENCE_MS, headers: await bearer('root') })
    assert.ok(answer.status === 200 || answer.status === 202, answer.text)
  }

  /** The master's. */
  get pid(): number {
    return this.#server.ready.pid
  }

  async reload(cleanup: SoakRun['cleanup']): Promise<void> {
    const reload = new Child(cleanup, svcCommand, ['reload', '--config', this.#server.configFile ?? ''])
    assert.equal((await reload.exited).code, 0, reload.stderr)
  }

  /** Fails when a reader has complained, with what the server said last. */
  check(): void {
    if (this.failures.length === 0) return
    const { stdout, stderr } = this.#server.child
    const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line))
    assert.fail([...this.failures.slice(0, 5), ...lines.slice(-10)].join('\n'))
  }

  /** Resolves when so many more reads have been answered. */
  async more(reads: number): Promise<void> {
    const seen = this.reads
    await waitFor('reads', () => this.reads > seen + reads, PATIENCE_MS)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#readers)
  }

  async #read(reader: number): Promise<void> {
    const get = client(this.#server)
    for (let turn = 0; !this.#isOver; turn++) {
      const least = this.#least
      // One reader in three floods with queries that are never repeated.
      const path = reader % 3 === 2 ? `/search?q=${reader}-${turn}` : '/'
      const answer = await get(path).catch((error: unknown) => ({ status: 0, text: String(error) }))
      this.reads++
      if (answer.status !== 200) this.failures.push(`${path}: status ${answer.status} ${answer.text}`)
      else if (path === '/' && !(shown(answer.text) >= least)) this.failures.push(`${shown(answer.text)} after ${least}`)
    }
  }
}
