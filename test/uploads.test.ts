import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PROCESS_WAIT_MS, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { bearer, type Username } from '../packages/auth/test/admin-users.ts'
import { DeploySite, filesOf } from './deploy-site.ts'

const MAX_BYTES = 300_000

/** An upload on a connection of its own. */
class RawUpload {
  readonly socket: Socket
  #received = ''

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#received += chunk
    })
    // The server may close while the body is being sent: the answer says why.
    socket.on('error', () => undefined)
  }

  /** Sends the head. `length` undefined: the body is chunked. */
  static async begin(
    t: TestContext,
    site: DeploySite,
    options: { user?: Username | undefined; length?: number; target?: string; type?: string } = {},
  ): Promise<RawUpload> {
    const { length, target = 'shop', type = 'application/gzip' } = options
    const user = 'user' in options ? options.user : 'tom'
    const framing = length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
    const credentials = user === undefined ? '' : `Authorization: ${(await bearer(user)).authorization}\r\n`
    const media = type === '' ? '' : `Content-Type: ${type}\r\n`
    const socket = connect(Number(new URL(site.server.url).port), '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(
      `PUT /__svc/admin/api/deploys/upload?site=${target} HTTP/1.1\r\nHost: localhost\r\n${credentials}${media}${framing}\r\n\r\n`,
    )
    return new RawUpload(socket)
  }

  /** Sends a part of a body with a declared length. */
  send(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  sendChunk(bytes: Uint8Array): void {
    this.socket.write(`${bytes.byteLength.toString(16)}\r\n`)
    this.socket.write(bytes)
    this.socket.write('\r\n')
  }

  endChunks(): void {
    this.socket.write('0\r\n\r\n')
  }

  /** Of the answer; NaN before it. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.#received)?.[1])
  }

  /** Status and JSON of the answer. */
  async answer(): Promise<[status: number, json: Record<string, unknown>]> {
    await waitFor(
      'the answer',
      () => this.#received.endsWith('}\n') || this.#received.endsWith('}') || this.socket.closed,
      PROCESS_WAIT_MS,
    )
    return [this.status, JSON.parse(this.#received.slice(this.#received.indexOf('{')) || '{}')]
  }

  async code(): Promise<string> {
    const [status, { code }] = await this.answer()
    return `${status} ${code}`
  }
}

function archive(bytes: number): Buffer {
  return Buffer.concat([Buffer.from([0x1f, 0x8b]), randomBytes(bytes - 2)])
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

const namesIn = (directory: string) => (existsSync(directory) ? readdirSync(directory).toSorted() : [])
const partials = (site: DeploySite) => namesIn(join(site.stateDir, 'uploads'))
const partialBytes = (site: DeploySite) =>
  partials(site).reduce((sum, name) => sum + statSync(join(site.stateDir, 'uploads', name)).size, 0)
const incoming = (site: DeploySite) => join(site.stateDir, 'incoming/acme/shop')
const noPartials = (site: DeploySite) =>
  waitFor('partial files to be deleted', () => partials(site).length === 0, PROCESS_WAIT_MS)

function packed(t: TestContext, name: string): Buffer {
  const dir = tempDir(t)
  writeFiles(dir, filesOf(name))
  return execFileSync('tar', ['-cz', '-C', dir, '.'])
}

/** Uploads a body at once. */
async function put(t: TestContext, site: DeploySite, body: Uint8Array, options: Parameters<typeof RawUpload.begin>[2] = {}) {
  const upload = await RawUpload.begin(t, site, { length: body.byteLength, ...options })
  upload.send(body)
  return upload.answer()
}

for (const engine of ['uws', 'node']) {
  test(`${engine}: uploads are stored whole or not at all, and refused unread where they may not come`, async (t) => {
    const site = await new DeploySite(t, {
      server: `engine = "${engine}"\nmax_body_bytes = 1000\nrequest_timeout_secs = 1`,
      deploy: `max_bytes = ${MAX_BYTES}`,
    }).start()

    await t.test('an upload is a file for the user of the server alone', async () => {
      const body = archive(MAX_BYTES)
      const [status, { file, bytes, sha256: digest }] = await put(t, site, body)
      assert.deepEqual([status, bytes, digest], [200, body.byteLength, sha256(body)])
      assert.deepEqual(readFileSync(String(file)), body)
      assert.equal(statSync(String(file)).mode & 0o777, 0o600)
    })

    await t.test('a slow client may take longer than server.request_timeout_secs, and one that stalls may not', async () => {
      const body = archive(MAX_BYTES)
      const slow = await RawUpload.begin(t, site)
      const begun = performance.now()
      let sent = 0
      while (performance.now() - begun < 1_500) {
        slow.sendChunk(body.subarray(sent, ++sent))
        await waitFor('the byte to be written', () => partialBytes(site) === sent, PROCESS_WAIT_MS)
      }
      slow.sendChunk(body.subarray(sent))
      slow.endChunks()
      const [status, json] = await slow.answer()
      assert.deepEqual([status, json['sha256']], [200, sha256(body)], JSON.stringify(json))

      const stalled = await RawUpload.begin(t, site, { length: 1_000 })
      stalled.send(body.subarray(0, 10))
      await waitFor('the refusal', () => stalled.status === 408, PROCESS_WAIT_MS)
      await noPartials(site)
    })

    await t.test('nothing is left of an upload whose client disconnects', async () => {
      const before = namesIn(incoming(site))
      const upload = await RawUpload.begin(t, site, { length: 200_000 })
      upload.send(archive(100_000))
      await waitFor('a part to be written', () => partialBytes(site) > 0, PROCESS_WAIT_MS)
      upload.socket.destroy()
      await noPartials(site)
      assert.deepEqual(namesIn(incoming(site)), before)
    })

    await t.test('an upload over deploy.max_bytes gets 413, before its body where it declares its length', async () => {
      assert.equal(await (await RawUpload.begin(t, site, { length: MAX_BYTES + 1 })).code(), '413 body_too_large')
      const chunked = await RawUpload.begin(t, site)
      chunked.sendChunk(archive(MAX_BYTES))
      chunked.sendChunk(Buffer.from('x'))
      assert.equal(await chunked.code(), '413 http_body_too_large')
      await noPartials(site)
    })

    await t.test('callers, sites and types are checked before the body comes', async () => {
      const codeOf = async (options: Parameters<typeof RawUpload.begin>[2]) =>
        (await RawUpload.begin(t, site, { length: 10, ...options })).code()
      assert.equal(await codeOf({ user: undefined }), '401 unauthorized')
      assert.equal(await codeOf({ user: 'vera' }), '403 forbidden')
      assert.equal(await codeOf({ user: 'ida' }), '404 unknown_site')
      assert.equal(await codeOf({ target: 'other' }), '404 unknown_site')
      assert.equal(await codeOf({ user: undefined, length: MAX_BYTES + 1 }), '401 unauthorized')
      assert.equal(await codeOf({ type: 'application/json' }), '415 unsupported_media_type')
      assert.equal(await codeOf({ length: 0 }), '400 invalid_request')
      const text = await put(t, site, Buffer.from('<html>no archive'))
      assert.deepEqual([text[0], text[1]['code']], [422, 'upload_invalid'])
      await noPartials(site)
    })

    await t.test('two uploads of a site run at once, and one more waits for none', async () => {
      const uploads = [await RawUpload.begin(t, site), await RawUpload.begin(t, site)]
      const body = archive(50_000)
      for (const upload of uploads) upload.sendChunk(body)
      await waitFor('both to be written', () => partialBytes(site) === 100_000, PROCESS_WAIT_MS)
      assert.equal(await (await RawUpload.begin(t, site)).code(), '429 uploads_busy')
      for (const upload of uploads) upload.endChunks()
      const answers = await Promise.all(uploads.map((upload) => upload.answer()))
      assert.deepEqual(
        answers.map(([status, json]) => [status, json['sha256']]),
        [
          [200, sha256(body)],
          [200, sha256(body)],
        ],
      )
      assert.notEqual(answers[0]?.[1]['file'], answers[1]?.[1]['file'])
    })
  })
}

// The last one kills the server.
test('on one server', async (t) => {
  const site = await new DeploySite(t, { deploy: `max_bytes = ${MAX_BYTES}` }).start()

  await t.test(
    'the latest archives of a site stay, within bounds of number and bytes, and no link of a tenant leads elsewhere',
    async (t) => {
      const files: string[] = []
      for (let at = 0; at < 7; at++) files.push(String((await put(t, site, archive(1_000)))[1]['file']))
      writeFiles(incoming(site), { 'own.tar.gz': 'x' })
      assert.deepEqual(
        files.map((file) => existsSync(file)),
        [false, false, true, true, true, true, true],
      )
      for (let at = 0; at < 3; at++) files.push(String((await put(t, site, archive(MAX_BYTES - 10)))[1]['file']))
      assert.deepEqual(
        files.slice(6).map((file) => existsSync(file)),
        [false, false, true, true],
      )
      assert.ok(existsSync(join(incoming(site), 'own.tar.gz')))

      const elsewhere = tempDir(t)
      rmSync(incoming(site), { recursive: true })
      symlinkSync(elsewhere, incoming(site))
      const [status, { code, detail }] = await put(t, site, archive(1_000))
      assert.deepEqual([status, code], [422, 'source_invalid'])
      assert.match(String(detail), /acme\/shop is a link/)
      assert.deepEqual([namesIn(elsewhere), partials(site)], [[], []])
      rmSync(incoming(site))
    },
  )

  await t.test('a tenant deploys its upload, and a super_admin one for a site without a tenant', async (t) => {
    const [, own] = await put(t, site, packed(t, 'second'))
    const { status, json } = await site.deploy(String(own['file']), 'tom')
    assert.deepEqual([status, json.release?.sha256], [200, own['sha256']], JSON.stringify(json))
    assert.equal(await site.text(), 'second')
    const { json: log } = await site.call('GET', '/__svc/admin/api/audit')
    const { entries } = log as unknown as { entries: { action: string }[] }
    const record = entries.find(({ action }) => action === 'PUT /__svc/admin/api/deploys/upload')
    assert.partialDeepStrictEqual(record, { username: 'tom', target: '{"site":"shop"}', result: 'ok' })
    const [, other] = await put(t, site, packed(t, 'third'), { user: 'root', target: 'other', type: '' })
    assert.match(String(other['file']), /\/incoming\/_\/other\/[^/]+\.tar\.gz$/)
    assert.equal((await site.deploy(String(other['file']), 'root', 'other')).status, 200)
    assert.equal(await site.text('/', 'other.localhost'), 'third')
  })

  await t.test(
    'what a killed worker or a killed server leaves of an upload is deleted, and its room is free again',
    async (t) => {
      const begin = async () => {
        const uploads = [await RawUpload.begin(t, site), await RawUpload.begin(t, site)]
        for (const upload of uploads) upload.sendChunk(archive(10_000))
        await waitFor('both to be written', () => partialBytes(site) === 20_000, PROCESS_WAIT_MS)
      }
      await begin()
      const { json } = await site.call('GET', '/__svc/admin/api/workers')
      for (const { pid } of (json as unknown as { workers: { pid: number }[] }).workers) process.kill(pid, 'SIGKILL')
      await noPartials(site)
      await waitFor('uploads to be possible again', async () => (await put(t, site, archive(10)))[0] === 200, PROCESS_WAIT_MS)
      await begin()
      process.kill(site.server.ready.pid, 'SIGKILL')
      await site.server.child.exited
      assert.equal(partials(site).length, 2)
      await site.start()
      assert.deepEqual(partials(site), [])
      assert.equal((await put(t, site, archive(10)))[0], 200)
    },
  )
})
