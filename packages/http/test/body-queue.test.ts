import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyBelow, openBelow, tempDir, waitFor } from '@svc/testkit'
import { BodyBlocks } from '../src/bodies/body-blocks.ts'
import { BodyQueue, FILE_ONLY, type QueueMemory } from '../src/bodies/body-queue.ts'

const MB = 1024 * 1024

class Subject {
  readonly dir: string
  readonly blocks = new BodyBlocks()
  readonly queue: BodyQueue
  readonly failures: Error[] = []
  #waiting: (() => void) | undefined

  constructor(t: TestContext, memory?: QueueMemory) {
    this.dir = join(tempDir(t, 'queue'), 'bodies')
    this.queue = new BodyQueue(
      { blocks: this.blocks, dir: () => this.dir },
      {
        ready: () => this.#wake(),
        failed: (error) => {
          this.failures.push(error)
          this.#wake()
        },
      },
      memory,
    )
    t.after(() => this.queue.close())
  }

  /** The next bytes, copied, their memory given back and written over. */
  async take(): Promise<Buffer | undefined> {
    while (!this.queue.isEmpty && this.failures.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting = resolve
      const piece = this.queue.take()
      if (piece !== undefined) {
        const copy = Buffer.from(piece.bytes)
        piece.block?.fill(0xee)
        if (piece.block !== undefined) this.blocks.give(piece.block)
        return copy
      }
      await promise
    }
    return undefined
  }

  async takeAll(): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let part = await this.take(); part !== undefined; part = await this.take()) parts.push(part)
    return Buffer.concat(parts)
  }

  #wake(): void {
    this.#waiting?.()
  }
}

test('where no file can be made, a queue says so', (t) => {
  const subject = new Subject(t)
  writeFileSync(subject.dir, 'not a directory')
  assert.throws(() => subject.queue.add(Buffer.alloc(2 * MB), Number.POSITIVE_INFINITY), { code: 'EEXIST' })
})

test('a file that loses its contents is a failure, not the end', async (t) => {
  const subject = new Subject(t)
  subject.queue.add(Buffer.alloc(4 * MB), 4 * MB)
  emptyBelow(subject.dir)
  const taken = await subject.takeAll()
  assert.equal(taken.byteLength, MB)
  assert.equal(subject.failures.length, 1)
  assert.match(String(subject.failures[0]?.message), /truncated/)
})

test('the files of a queue have no names, are nobody else’s, and are closed with it', async (t) => {
  const subject = new Subject(t)
  subject.queue.add(Buffer.alloc(3 * MB), 3 * MB)
  assert.equal(openBelow(subject.dir).length, 1)
  assert.deepEqual(readdirSync(subject.dir), [])
  assert.equal(statSync(subject.dir).mode & 0o777, 0o700)
  assert.equal(statSync(`/proc/self/fd/${openBelow(subject.dir)[0]}`).mode & 0o777, 0o600)
  subject.queue.close()
  await waitFor('the file to be closed', () => openBelow(subject.dir).length === 0)
  assert.ok(subject.queue.isEmpty)
})

test('a queue that is closed while it reads closes its file afterwards, and says nothing', async (t) => {
  const subject = new Subject(t)
  const bytes = randomBytes(3 * MB)
  subject.queue.add(bytes, bytes.byteLength)
  // Sixteen blocks are in memory. Behind the fifteenth a read is on its way.
  for (let i = 0; i < 15; i++) subject.queue.take()
  subject.queue.close()
  await waitFor('the file to be closed', () => openBelow(subject.dir).length === 0)
  assert.equal(subject.queue.take(), undefined)
  assert.deepEqual(subject.failures, [])
})

test('what fits in memory makes no file', async (t) => {
  const subject = new Subject(t)
  const bytes = randomBytes(MB)
  for (let from = 0; from < MB; from += 100_000) subject.queue.add(bytes.subarray(from, from + 100_000), MB - from)
  assert.equal(existsSync(subject.dir), false)
  assert.ok((await subject.takeAll()).equals(bytes))
})

test('bytes come out as they went in, however adding and taking alternate', async (t) => {
  const subject = new Subject(t)
  const bytes = randomBytes(24 * MB)
  const sizes = [1, 700_000, 17, 70_000, 512 * 1024, 3, 2 * MB, 9_000, 40_000, 5 * MB]
  const taken: Buffer[] = []
  let from = 0
  for (let turn = 0; from < bytes.byteLength; turn++) {
    const part = bytes.subarray(from, from + (sizes[turn % sizes.length] ?? 1))
    // Sometimes the length is known, sometimes it is not.
    subject.queue.add(part, turn % 3 === 0 ? Number.POSITIVE_INFINITY : bytes.byteLength - from)
    from += part.byteLength
    // Now and then nothing is left in the file, and memory comes first again.
    const wanted = turn % 7 === 6 ? Number.POSITIVE_INFINITY : turn % 5
    for (let i = 0; i < wanted; i++) {
      const piece = await subject.take()
      if (piece === undefined) break
      taken.push(piece)
    }
  }
  taken.push(await subject.takeAll())
  assert.ok(Buffer.concat(taken).equals(bytes))
  assert.ok(subject.queue.isEmpty)
})

test('many small pieces share memory', async (t) => {
  const subject = new Subject(t)
  const bytes = randomBytes(20_000)
  for (const byte of bytes) subject.queue.add(Buffer.from([byte]), Number.POSITIVE_INFINITY)
  const first = await subject.take()
  const second = await subject.take()
  assert.equal((first?.byteLength ?? 0) + (second?.byteLength ?? 0), bytes.byteLength)
  assert.ok(Buffer.concat([first ?? Buffer.alloc(0), second ?? Buffer.alloc(0)]).equals(bytes))
})

test('a queue without memory writes everything to its file, and reads when bytes are taken', async (t) => {
  const subject = new Subject(t, FILE_ONLY)
  const bytes = randomBytes(300_000)
  for (let from = 0; from < bytes.byteLength; from += 10_000) {
    subject.queue.add(bytes.subarray(from, from + 10_000), Number.POSITIVE_INFINITY)
  }
  assert.equal(subject.queue.bytes, bytes.byteLength)
  assert.equal(openBelow(subject.dir).length, 1)
  const first = (await subject.take()) ?? assert.fail('there are bytes')
  assert.equal(subject.queue.bytes, bytes.byteLength - first.byteLength)
  assert.ok(Buffer.concat([first, await subject.takeAll()]).equals(bytes))
  assert.deepEqual([subject.queue.bytes, subject.queue.isEmpty], [0, true])
})

test('what a queue took before an error of the file system is counted', (t) => {
  const subject = new Subject(t)
  writeFileSync(subject.dir, 'not a directory')
  assert.throws(() => subject.queue.add(Buffer.alloc(2 * MB), Number.POSITIVE_INFINITY))
  assert.equal(subject.queue.bytes, MB)
})
