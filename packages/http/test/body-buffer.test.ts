import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { emptyBelow, ManualClock, openBelow, tempDir, waitFor } from '@svc/testkit'
import { BodyBlocks } from '../src/bodies/body-blocks.ts'
import { BodyBuffer, type BodyCursor } from '../src/bodies/body-buffer.ts'
import { SpoolFile } from '../src/bodies/body-file.ts'

const MB = 1024 * 1024

interface Given {
  readonly keeps: 'all' | 'untaken'
  readonly isBlocking?: boolean
  readonly memoryBytes?: number
  readonly maxBytes?: number
}

/** A buffer, and what it has told its owner. */
class Subject {
  readonly dir: string
  readonly blocks = new BodyBlocks()
  readonly clock = new ManualClock()
  readonly buffer: BodyBuffer
  readonly notStored: (Error | undefined)[] = []
  rooms = 0
  unread = 0

  constructor(t: TestContext, { keeps, isBlocking = true, memoryBytes = MB, maxBytes = Number.POSITIVE_INFINITY }: Given) {
    this.dir = join(tempDir(t, 'buffer'), 'bodies')
    this.buffer = new BodyBuffer({
      blocks: this.blocks,
      keeps,
      memoryBytes,
      maxBytes,
      openFile: () => SpoolFile.open(this.dir, isBlocking),
      onNotStored: (error) => this.notStored.push(error),
      onRoom: () => this.rooms++,
      onUnread: () => this.unread++,
      lag: { clock: this.clock, limitMs: 30, error: () => new Error('too slow') },
    })
    t.after(() => this.buffer.release())
  }

  reader(from = 0): Reader {
    return new Reader(this, from)
  }

  /** Adds bytes as a sender does that stops when it is told to. */
  async send(bytes: Buffer, step = 100_000): Promise<void> {
    for (let from = 0; from < bytes.byteLength; from += step) {
      const rooms = this.rooms
      const part = Buffer.from(bytes.subarray(from, from + step))
      const takesMore = this.buffer.add(part, bytes.byteLength - from)
      part.fill(0xdd)
      if (!takesMore) await waitFor('room', () => this.rooms > rooms)
    }
  }
}

/** A reader that gives memory back, written over, when it has copied it. */
class Reader {
  readonly #subject: Subject
  readonly cursor: BodyCursor
  cut: Error | undefined
  #wake: (() => void) | undefined

  constructor(subject: Subject, from: number) {
    this.#subject = subject
    this.cursor = subject.buffer.reader(from, {
      ready: () => this.#wake?.(),
      cut: (error) => {
        this.cut = error
        this.cursor.close()
      },
    })
  }

  /** The next bytes, or how the body ended. */
  async next(maxBytes?: number): Promise<Buffer | 'end' | Error> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const part = this.cursor.take(maxBytes)
      if (part === 'later') {
        await promise
        continue
      }
      if (part === 'end' || part instanceof Error) return part
      const copy = Buffer.from(part.bytes)
      part.block?.fill(0xee)
      this.#subject.blocks.give(part.block)
      this.cursor.took(copy.byteLength, true)
      return copy
    }
  }

  /** All up to the end. */
  async rest(): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let part = await this.next(); part !== 'end'; part = await this.next()) {
      if (part instanceof Error) throw part
      parts.push(part)
    }
    return Buffer.concat(parts)
  }
}

const WAYS: readonly (readonly [string, Given])[] = [
  ['that keeps what is not taken', { keeps: 'untaken' }],
  ['without memory', { keeps: 'untaken', memoryBytes: 0 }],
  ['that keeps all', { keeps: 'all', memoryBytes: 64 * 1024 }],
  ['that keeps all with writes that do not block', { keeps: 'all', memoryBytes: 64 * 1024, isBlocking: false }],
  ['that keeps nothing', { keeps: 'all', maxBytes: 0 }],
]

for (const [name, given] of WAYS) {
  describe(`a buffer ${name}`, () => {
    test('of nothing ends, and makes no file', async (t) => {
      const subject = new Subject(t, given)
      const reader = subject.reader()
      subject.buffer.end()
      assert.equal(await reader.next(), 'end')
      assert.equal(existsSync(subject.dir), false)
      reader.cursor.close()
    })

    test('hands on what came, whole and in its order, to a reader as fast as its sender', async (t) => {
      const subject = new Subject(t, given)
      const bytes = randomBytes(3 * MB)
      const read = subject.reader().rest()
      await subject.send(bytes)
      subject.buffer.end()
      assert.ok((await read).equals(bytes))
      assert.deepEqual(subject.notStored, [])
    })

    test('hands on what was there before the sender failed, and then the failure', async (t) => {
      const subject = new Subject(t, given)
      const reader = subject.reader()
      subject.buffer.add(Buffer.from('some'))
      assert.equal(String(await reader.next()), 'some')
      subject.buffer.add(Buffer.from(' more'))
      subject.buffer.end(new Error('the sender left'))
      assert.equal(String(await reader.next()), ' more')
      assert.equal(((await reader.next()) as Error).message, 'the sender left')
    })

    test('closes its file once its reader leaves in the middle, though it reads', async (t) => {
      const subject = new Subject(t, given)
      const reader = subject.reader()
      for (let i = 0; i < 30; i++) subject.buffer.add(randomBytes(100_000))
      subject.buffer.release()
      await reader.next()
      reader.cursor.take()
      reader.cursor.close()
      await waitFor('the file to be closed', () => openBelow(subject.dir).length === 0)
      assert.equal(reader.cut, undefined)
    })
  })
}

for (const [name, given] of WAYS.slice(0, 4)) {
  describe(`the file of a buffer ${name}`, () => {
    test('takes what its reader is too slow for', async (t) => {
      const subject = new Subject(t, given)
      const reader = subject.reader()
      const bytes = randomBytes(3 * MB)
      await subject.send(bytes)
      subject.buffer.end()
      assert.equal(openBelow(subject.dir).length, 1)
      assert.ok((await reader.rest()).equals(bytes))
    })

    test('has no name and is private to this process', async (t) => {
      const subject = new Subject(t, given)
      const reader = subject.reader()
      await subject.send(Buffer.alloc(3 * MB))
      assert.deepEqual(readdirSync(subject.dir), [])
      assert.equal(statSync(subject.dir).mode & 0o777, 0o700)
      assert.equal(statSync(`/proc/self/fd/${openBelow(subject.dir)[0]}`).mode & 0o777, 0o600)
      reader.cursor.close()
    })

    test('that loses its contents is a failure, not the end', async (t) => {
      const subject = new Subject(t, given)
      const reader = subject.reader()
      await subject.send(Buffer.alloc(3 * MB))
      subject.buffer.end()
      emptyBelow(subject.dir)
      await assert.rejects(reader.rest(), { code: 'ENGINE_BODY_LOST', message: /truncated/ })
    })

    test('that cannot be made leaves all in memory, as fast as its reader', async (t) => {
      const subject = new Subject(t, given)
      writeFileSync(subject.dir, 'not a directory')
      const reader = subject.reader()
      const bytes = randomBytes(3 * MB)
      const rooms: boolean[] = []
      for (let from = 0; from < bytes.byteLength; from += MB) {
        rooms.push(subject.buffer.add(bytes.subarray(from, from + MB)))
      }
      await waitFor('the failure', () => subject.notStored.length > 0)
      assert.deepEqual(
        subject.notStored.map((error) => (error as NodeJS.ErrnoException).code),
        ['EEXIST'],
      )
      assert.deepEqual([rooms.at(-1), subject.rooms], [false, 0])
      subject.buffer.end()
      assert.ok((await reader.rest()).equals(bytes))
      assert.equal(subject.rooms, 1)
    })
  })
}

for (const [keeps, writing] of [
  ['untaken', 'blocking'],
  ['all', 'blocking'],
  ['all', 'later'],
] as const) {
  test(`a body reaches its reader whole although the disk is full in the middle of it: ${keeps}, ${writing}`, async (t) => {
    const program = fileURLToPath(new URL('full-disk-program.ts', import.meta.url))
    // The kernel refuses what is beyond 500 KB of a file, within a write too.
    const limited = `trap '' XFSZ; ulimit -f 1000; exec "$0" "$@"`
    const args = ['-c', limited, process.execPath, program, join(tempDir(t, 'full'), 'bodies'), keeps, writing]
    const { stdout } = await promisify(execFile)('sh', args, { timeout: 60_000 })
    assert.deepEqual(JSON.parse(stdout), { isWhole: true, errors: ['EFBIG'] })
  })
}

describe('a buffer that keeps what is not taken', () => {
  test('makes no file for what fits in memory', async (t) => {
    const subject = new Subject(t, { keeps: 'untaken' })
    const reader = subject.reader()
    const bytes = randomBytes(MB)
    for (let from = 0; from < MB; from += 100_000) subject.buffer.add(bytes.subarray(from, from + 100_000), MB - from)
    assert.equal(existsSync(subject.dir), false)
    subject.buffer.end()
    assert.ok((await reader.rest()).equals(bytes))
  })

  test('hands bytes on as they came, however adding and taking alternate', async (t) => {
    const subject = new Subject(t, { keeps: 'untaken' })
    const reader = subject.reader()
    const bytes = randomBytes(24 * MB)
    const sizes = [1, 700_000, 17, 70_000, 512 * 1024, 3, 2 * MB, 9_000, 40_000, 5 * MB]
    const taken: Buffer[] = []
    let from = 0
    let takenBytes = 0
    for (let turn = 0; from < bytes.byteLength; turn++) {
      const part = bytes.subarray(from, from + (sizes[turn % sizes.length] ?? 1))
      // Sometimes the length is known, sometimes it is not.
      subject.buffer.add(part, turn % 3 === 0 ? Number.POSITIVE_INFINITY : bytes.byteLength - from)
      from += part.byteLength
      // Now and then nothing is left in the file, and memory comes first again.
      const wanted = turn % 7 === 6 ? Number.POSITIVE_INFINITY : turn % 5
      for (let i = 0; i < wanted && takenBytes < from; i++) {
        const piece = await reader.next()
        assert.ok(piece instanceof Buffer)
        taken.push(piece)
        takenBytes += piece.byteLength
      }
    }
    subject.buffer.end()
    taken.push(await reader.rest())
    assert.ok(Buffer.concat(taken).equals(bytes))
  })

  test('has a file no longer than what waited at one time', async (t) => {
    const subject = new Subject(t, { keeps: 'untaken', memoryBytes: 0 })
    const reader = subject.reader()
    for (let round = 0; round < 10; round++) {
      subject.buffer.add(Buffer.alloc(100_000))
      for (let left = 100_000; left > 0; ) left -= ((await reader.next()) as Buffer).byteLength
    }
    assert.equal(statSync(`/proc/self/fd/${openBelow(subject.dir)[0]}`).size, 100_000)
    reader.cursor.close()
  })

  test('lets many small pieces share memory', async (t) => {
    const subject = new Subject(t, { keeps: 'untaken' })
    const reader = subject.reader()
    const bytes = randomBytes(20_000)
    for (const byte of bytes) subject.buffer.add(Buffer.from([byte]))
    const parts: unknown[] = []
    for (let i = 0; i < 4; i++) parts.push(await reader.next())
    assert.ok(Buffer.concat(parts as Buffer[]).equals(bytes))
    reader.cursor.close()
  })

  test('takes little memory for a short body of unknown length, and blocks for a long one', (t) => {
    const subject = new Subject(t, { keeps: 'untaken' })
    const reader = subject.reader()
    let blocks = 0
    const take = subject.blocks.take.bind(subject.blocks)
    subject.blocks.take = () => {
      blocks++
      return take()
    }
    for (let i = 0; i < 30; i++) subject.buffer.add(Buffer.alloc(1_000))
    assert.equal(blocks, 0)
    for (let i = 0; i < 30; i++) subject.buffer.add(Buffer.alloc(10_000))
    assert.ok(blocks > 3, `${blocks} blocks`)
    reader.cursor.close()
  })

  test('says when too much waits, and when there is room', async (t) => {
    const subject = new Subject(t, { keeps: 'untaken', memoryBytes: 0, maxBytes: 200_000 })
    const reader = subject.reader()
    assert.equal(subject.buffer.add(Buffer.alloc(150_000)), true)
    assert.equal(subject.buffer.add(Buffer.alloc(150_000)), false)
    await reader.next()
    assert.equal(subject.rooms, 0)
    await reader.next()
    assert.equal(subject.rooms, 1)
    reader.cursor.close()
  })
})

describe('a buffer that keeps all', () => {
  test('is read by many, from different places on, while it comes and when it is whole', async (t) => {
    const subject = new Subject(t, { keeps: 'all', memoryBytes: 64 * 1024, isBlocking: false })
    const bytes = randomBytes(2 * MB)
    const before = [0, 1, 70_000, MB].map((from) => [from, subject.reader(from).rest()] as const)
    const sent = subject.send(bytes)
    const early = subject.reader()
    assert.equal(((await early.next(10)) as Buffer).byteLength, 10)
    early.cursor.close()
    await sent
    subject.buffer.end()
    const after = [0, 65_536, 2 * MB - 1].map((from) => [from, subject.reader(from).rest()] as const)
    for (const [from, read] of [...before, ...after]) assert.ok((await read).equals(bytes.subarray(from)), `from ${from}`)
  })

  test('gives what is short as bytes, and what is long as its file', async (t) => {
    const short = new Subject(t, { keeps: 'all', memoryBytes: 64 * 1024, isBlocking: false })
    short.buffer.add(Buffer.from('short'))
    short.buffer.end()
    assert.equal(String(await short.buffer.stored()), 'short')
    const long = new Subject(t, { keeps: 'all', memoryBytes: 64 * 1024, isBlocking: false })
    const bytes = randomBytes(200_000)
    long.buffer.add(bytes)
    long.buffer.end()
    const file = await long.buffer.stored()
    assert.ok(file instanceof SpoolFile)
    const read = Buffer.alloc(300_000)
    assert.equal(await file.read(read, 0), 200_000)
    assert.ok(read.subarray(0, 200_000).equals(bytes))
  })

  test('that turns out to be too long reaches its readers whole, as fast as the slowest', async (t) => {
    const subject = new Subject(t, { keeps: 'all', memoryBytes: 64 * 1024, maxBytes: 250_000, isBlocking: false })
    const [slow, fast] = [subject.reader(), subject.reader()]
    const bytes = randomBytes(400_000)
    const read = fast.rest()
    await subject.send(bytes.subarray(0, 200_000))
    assert.equal(subject.buffer.add(bytes.subarray(200_000)), false)
    assert.deepEqual(subject.notStored, [undefined])
    assert.equal(await subject.buffer.stored(), undefined)
    const { rooms } = subject
    const rest = slow.rest()
    await waitFor('room', () => subject.rooms > rooms)
    subject.buffer.end()
    assert.ok((await rest).equals(bytes) && (await read).equals(bytes))
  })

  test('that is not kept drops a reader that holds up others for too long, and tells when the last one has left', async (t) => {
    const subject = new Subject(t, { keeps: 'all', maxBytes: 0 })
    const [slow, fast] = [subject.reader(), subject.reader()]
    assert.equal(subject.buffer.add(Buffer.alloc(10)), false)
    await fast.next()
    subject.clock.advance(29)
    assert.deepEqual([slow.cut, subject.rooms], [undefined, 0])
    subject.clock.advance(1)
    assert.equal(slow.cut?.message, 'too slow')
    assert.deepEqual([subject.rooms, subject.unread], [1, 0])
    fast.cursor.close()
    assert.equal(subject.unread, 1)
  })
})
