import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HttpError, type RequestBody } from '@svc/http'
import { tempDir } from '@svc/testkit'
import { uploadArchive } from '../src/control/archive-upload.ts'

type Master = Parameters<typeof uploadArchive>[0]['master']

const gzip = Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(200_000)])

/** A body that a test hands on chunk by chunk. */
class ManualBody implements RequestBody {
  readonly isPresent = true
  readonly length = undefined
  acked = 0
  chunk: (bytes: Uint8Array) => void = () => assert.fail('not read yet')
  end: (error?: Error) => void = () => assert.fail('not read yet')
  readonly begun = Promise.withResolvers<void>()

  read(onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void): void {
    this.chunk = (bytes) => onChunk(bytes, () => this.acked++)
    this.end = onEnd
    this.begun.resolve()
  }
}

/** A master that gives a file of a directory, and notes the calls. */
function scriptedMaster(partial: string, reserved = 0) {
  const ended: unknown[] = []
  const call = async (name: string, request: unknown) => {
    if (name === 'beginUpload') return { partial, reserved }
    const { bytes } = request as { bytes?: number }
    ended.push(bytes)
    return bytes === undefined ? {} : { file: '/incoming/a.tar.gz' }
  }
  return { master: { call } as unknown as Master, ended }
}

const answer = { timeoutMs: 1_000 }
const order = { site: 'shop', username: 'tom' }

test('a chunk is acknowledged when the file has it, and a gzip header in parts is one', async (t) => {
  const partial = join(tempDir(t), 'a.partial')
  const { master, ended } = scriptedMaster(partial)
  const body = new ManualBody()
  const upload = uploadArchive({ master, answer }, order, body)
  await body.begun.promise
  for (const byte of gzip.subarray(0, 3)) body.chunk(Buffer.from([byte]))
  assert.equal(body.acked, 0)
  body.end()
  const { file, bytes } = await upload
  assert.deepEqual([file, bytes, body.acked, ended], ['/incoming/a.tar.gz', 3, 3, [3]])
  assert.deepEqual(readFileSync(partial), gzip.subarray(0, 3))
})

test('an upload that breaks off, is no gzip file, is empty or takes too long is ended without a file', async (t) => {
  const dir = tempDir(t)
  const cases: [code: string, send: (body: ManualBody) => void][] = [
    ['HTTP_ABORTED', (body) => body.end(new HttpError('HTTP_ABORTED', 'gone'))],
    ['UPLOAD_INVALID', (body) => body.chunk(Buffer.from('PK'))],
    ['UPLOAD_INVALID', (body) => body.end()],
    ['HTTP_REQUEST_TIMEOUT', (body) => body.chunk(gzip)],
  ]
  for (const [index, [code, send]] of cases.entries()) {
    const { master, ended } = scriptedMaster(join(dir, `${index}.partial`))
    const body = new ManualBody()
    const upload = uploadArchive({ master, answer, limitMs: 50 }, order, body)
    await body.begun.promise
    send(body)
    await assert.rejects(upload, { code })
    assert.deepEqual(ended, [undefined], code)
  }
})

test('an upload that would leave no room for the server gets 507 before its body is read', async (t) => {
  const { bavail, bsize } = statfsSync(tmpdir())
  const { master, ended } = scriptedMaster(join(tempDir(t), 'a.partial'), bavail * bsize)
  const body = new ManualBody()
  const upload = uploadArchive({ master, answer, limitMs: 50 }, order, body)
  await assert.rejects(upload, { code: 'UPLOAD_NO_SPACE', status: 507 })
  assert.deepEqual(ended, [undefined])
  assert.throws(() => body.chunk(gzip), /not read yet/)
})

test('a full disk gets 507', async (t) => {
  const program = fileURLToPath(new URL('full-disk-upload.ts', import.meta.url))
  const limited = `trap '' XFSZ; ulimit -f 100; exec "$0" "$@"`
  const args = ['-c', limited, process.execPath, program, join(tempDir(t), 'a.partial')]
  const { stdout } = await promisify(execFile)('sh', args, { timeout: 60_000 })
  assert.deepEqual(JSON.parse(stdout), { code: 'UPLOAD_NO_SPACE', status: 507, ended: [null] })
})
