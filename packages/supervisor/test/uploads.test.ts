import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { SiteConfig } from '@svc/config'
import type { UploadStart } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir, waitFor } from '@svc/testkit'
import { Uploads } from '../src/releases/uploads.ts'

const MAX_BYTES = 1_000
const logger = createLogger({ level: 'silent', format: 'json' })

/** Uploads of one server, with the ids counted up. */
class Server {
  readonly stateDir: string
  readonly #uploads: Uploads
  #next = 0

  private constructor(stateDir: string, uploads: Uploads) {
    this.stateDir = stateDir
    this.#uploads = uploads
  }

  static async start(t: TestContext): Promise<Server> {
    const stateDir = tempDir(t)
    const site = (id: string) => ({ id, tenant: 'acme' }) as SiteConfig
    const options = { stateDir, maxBytes: () => MAX_BYTES, site, now: () => 0, logger }
    return new Server(stateDir, await Uploads.open(options))
  }

  /** Begins an upload, and writes a file for it. */
  begin(holder: object, order: Partial<UploadStart> & Pick<UploadStart, 'site' | 'username'>): string {
    const id = (++this.#next).toString(16).padStart(32, '0')
    const { partial } = this.#uploads.begin(holder, { id, bytes: 1, ...order })
    writeFileSync(partial, 'x')
    return id
  }

  reserved(holder: object, order: Omit<UploadStart, 'id'>): number {
    return this.#uploads.begin(holder, { id: (++this.#next).toString(16).padStart(32, '0'), ...order }).reserved
  }

  abort(holder: object, id: string): Promise<unknown> {
    return this.#uploads.end(holder, { id })
  }

  holderEnded(holder: object): void {
    this.#uploads.holderEnded(holder)
  }

  get partials(): string[] {
    return readdirSync(`${this.stateDir}/uploads`)
  }
}

test('a user has four uploads in progress, over all sites and workers', async (t) => {
  const server = await Server.start(t)
  const [first, second] = [{}, {}]
  const ids = ['a', 'b', 'c', 'd'].map((site) => server.begin(first, { site, username: 'tom' }))
  const busy = { code: 'UPLOADS_BUSY', status: 429, message: /too many uploads of tom are in progress/ }
  assert.throws(() => server.begin(second, { site: 'e', username: 'tom' }), busy)
  server.begin(second, { site: 'e', username: 'ida' })
  await server.abort(first, ids[0] ?? '')
  server.begin(second, { site: 'e', username: 'tom' })
})

test('sixteen uploads are in progress on a server, and five for a site', async (t) => {
  const server = await Server.start(t)
  const holder = {}
  for (let at = 0; at < 5; at++) server.begin(holder, { site: 'shop', username: `u${at}` })
  const full = { code: 'UPLOADS_BUSY', message: /too many uploads for shop are in progress/ }
  assert.throws(() => server.begin(holder, { site: 'shop', username: 'u5' }), full)
  for (let at = 5; at < 16; at++) server.begin(holder, { site: `s${at}`, username: `u${at}` })
  const busy = { code: 'UPLOADS_BUSY', message: /too many uploads on this server are in progress/ }
  assert.throws(() => server.begin(holder, { site: 'last', username: 'last' }), busy)
})

test('uploads reserve their declared length, or deploy.max_bytes, until their worker ends', async (t) => {
  const server = await Server.start(t)
  const [first, second] = [{}, {}]
  assert.equal(server.reserved(first, { site: 'a', username: 'tom', bytes: 300 }), 300)
  assert.equal(server.reserved(first, { site: 'b', username: 'tom' }), 300 + MAX_BYTES)
  const id = server.begin(second, { site: 'b', username: 'tom', bytes: MAX_BYTES })
  const full = { code: 'UPLOADS_BUSY', message: /for b are/ }
  assert.throws(() => server.begin(second, { site: 'b', username: 'ida', bytes: 1 }), full)
  server.holderEnded(second)
  await waitFor('the partial file to be deleted', () => server.partials.length === 0)
  assert.equal(server.reserved(first, { site: 'b', username: 'tom', bytes: 5 }), 305 + MAX_BYTES)
  assert.throws(() => server.begin(second, { site: 'c', username: 'ida' }), { code: 'SUP_STOPPED' })
  assert.deepEqual(await server.abort(second, id), {})
})
