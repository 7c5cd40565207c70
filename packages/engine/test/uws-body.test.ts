import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { codeOf } from '@svc/core'
import type { BodyAck } from '@svc/http'
import { emptyBelow, openBelow, tempDir, waitFor } from '@svc/testkit'
import { BodyBlocks } from '../../http/src/bodies/body-blocks.ts'
import { UwsBody } from '../src/uws/uws-body.ts'

const MB = 1024 * 1024
/** Largest read of the library, in bytes. */
const READ_BYTES = 512 * 1024

/** Stands where the library does: it goes on in the same turn although it was told to pause, as it does with a fast sender. */
class Library {
  #onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined
  pauses = 0
  resumes = 0

  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#onData = listener
  }

  pause(): void {
    this.pauses++
  }

  resume(): void {
    this.resumes++
  }

  /** Everything in one turn, out of memory that is used again. */
  send(bytes: Buffer, isWhole = true): void {
    for (let from = 0; from < bytes.byteLength; from += READ_BYTES) {
      const part = bytes.subarray(from, from + READ_BYTES)
      const chunk = new ArrayBuffer(part.byteLength)
      new Uint8Array(chunk).set(part)
      this.#onData?.(chunk, isWhole && from + READ_BYTES >= bytes.byteLength)
      new Uint8Array(chunk).fill(0xdd)
    }
  }
}

class Owner {
  isOver = false
  readonly refusals: (readonly [number, string])[] = []
  readonly problems: unknown[] = []
  ends = 0

  bodyRefused(status: number, code: string): void {
    this.refusals.push([status, code])
  }

  bodyEnded(): void {
    this.ends++
  }

  problem(error: unknown): void {
    this.problems.push(error)
  }

  beforePause(): void {
    // Nothing to keep alive here.
  }
}

function subject(t: TestContext, length: number | undefined, maxBytes = 1 << 30) {
  const dir = join(tempDir(t, 'uws-body'), 'bodies')
  const library = new Library()
  const owner = new Owner()
  const store = { blocks: new BodyBlocks(), dir: () => dir }
  const body = new UwsBody(library as unknown as ConstructorParameters<typeof UwsBody>[0], owner, store, { length, maxBytes })
  t.after(() => body.fail(new Error('the test is over')))
  return { dir, library, owner, body }
}

/** Reads a body, and acknowledges as it is told. */
class Reader {
  readonly #parts: Buffer[] = []
  readonly ended = Promise.withResolvers<Error | undefined>()
  #acks: BodyAck[] = []
  isHolding = false
  /** From so many bytes on nothing is acknowledged. */
  holdFrom = Number.POSITIVE_INFINITY
  takenBytes = 0
  heldBytes = 0
  mostHeldBytes = 0

  constructor(body: UwsBody) {
    body.read(
      (chunk, ack) => {
        this.#parts.push(Buffer.from(chunk))
        this.takenBytes += chunk.byteLength
        this.heldBytes += chunk.byteLength
        this.mostHeldBytes = Math.max(this.mostHeldBytes, this.heldBytes)
        const free: BodyAck = () => {
          this.heldBytes -= chunk.byteLength
          // The memory is the body's again: what it reads next may lie there.
          chunk.fill(0xcc)
          ack(true)
        }
        if (this.isHolding || this.takenBytes >= this.holdFrom) this.#acks.push(free)
        else setImmediate(free)
      },
      (error) => this.ended.resolve(error),
    )
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }

  release(): void {
    this.isHolding = false
    for (const ack of this.#acks.splice(0)) ack()
  }
}

test('a body whose file cannot be made ends with an error and is answered 500, and what still comes is thrown away', async (t) => {
  const { dir, library, owner, body } = subject(t, 8 * MB)
  writeFileSync(dir, 'not a directory')
  const reader = new Reader(body)
  reader.isHolding = true
  library.send(Buffer.alloc(8 * MB))
  assert.equal(codeOf(await reader.ended.promise), 'ENGINE_BODY_LOST')
  assert.deepEqual(owner.refusals, [[500, 'body_lost']])
  assert.equal(owner.ends, 1)
  assert.equal(owner.problems.length, 1)
})

test('a body whose file cannot be read back ends with an error and is answered 500', async (t) => {
  const { dir, library, owner, body } = subject(t, 8 * MB)
  const reader = new Reader(body)
  reader.isHolding = true
  library.send(randomBytes(8 * MB))
  emptyBelow(dir)
  reader.release()
  assert.equal(codeOf(await reader.ended.promise), 'ENGINE_BODY_LOST')
  assert.deepEqual(owner.refusals, [[500, 'body_lost']])
  await waitFor('the file to be closed', () => openBelow(dir).length === 0)
})

test('the file is deleted when the client disconnects in the middle of it', async (t) => {
  const { dir, library, body } = subject(t, 8 * MB)
  const reader = new Reader(body)
  reader.holdFrom = 2 * MB
  library.send(Buffer.alloc(8 * MB))
  assert.equal(openBelow(dir).length, 1)
  await waitFor('the file to be read', () => reader.takenBytes >= 2 * MB)
  body.fail(new Error('the client went away'))
  assert.equal((await reader.ended.promise)?.message, 'the client went away')
  await waitFor('the file to be closed', () => openBelow(dir).length === 0)
})

test('a body past its limit is rejected, however much of it is queued', async (t) => {
  const { dir, library, owner, body } = subject(t, undefined, 4 * MB)
  library.send(Buffer.alloc(5 * MB))
  assert.deepEqual(owner.refusals, [[413, 'body_too_large']])
  await waitFor('the file to be closed', () => openBelow(dir).length === 0)
  assert.equal(codeOf(await new Reader(body).ended.promise), 'HTTP_BODY_TOO_LARGE')
})

test('data that arrives in one turn despite the pause reaches a slow reader whole, in small pieces', async (t) => {
  for (const length of [20 * MB, undefined]) {
    const { dir, library, owner, body } = subject(t, length)
    const bytes = randomBytes(20 * MB)
    const reader = new Reader(body)
    reader.isHolding = true
    library.send(bytes)
    assert.equal(owner.ends, 1)
    assert.equal(library.pauses, 1)
    assert.equal(openBelow(dir).length, 1)
    reader.release()
    assert.equal(await reader.ended.promise, undefined)
    assert.ok(reader.bytes.equals(bytes))
    assert.ok(reader.mostHeldBytes <= 192 * 1024, `${reader.mostHeldBytes} bytes were handed on at once`)
  }
})

test('data that arrives before a reader waits, and the sender resumes once it is read', async (t) => {
  const { library, body } = subject(t, 6 * MB)
  const bytes = randomBytes(6 * MB)
  library.send(bytes.subarray(0, 3 * MB), false)
  assert.deepEqual([library.pauses, library.resumes], [1, 0])
  const reader = new Reader(body)
  await waitFor('the sender to go on', () => library.resumes === 1)
  library.send(bytes.subarray(3 * MB))
  assert.equal(await reader.ended.promise, undefined)
  assert.ok(reader.bytes.equals(bytes))
})
