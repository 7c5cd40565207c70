// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { appendFileSync, readdirSync, readlinkSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { test } from 'node:test'
import { fieldOf, RecordedExchange } from './recorded-exchange.ts'
import { StaticSite } from './static-site.ts'

const CHUNK = 256 * 1024

/** How many descriptors of this process lead to a file. */
function openCount(path: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path)
    } catch {
      // The descriptor of the listing itself.
      return false
    }
  }).length
}

const hash = (data: Uint8Array) => createHash('sha256').update(data).digest('hex')

for (const [how, change] of [
  ['cut', (path: string) => truncateSync(path, CHUNK + 10)],
  ['emptied', (path: string) => truncateSync(path, 0)],
  ['overwritten with the same size', (path: string) => writeFileSync(path, Buffer.alloc(CHUNK * 4, 'y'))],
  ['appended to', (path: string) => appendFileSync(path, 'more')],
] as const) {
  test(`cuts the response when the file is ${how} while it is sent`, async (t) => {
    const site = new StaticSite(t, { 'a.bin': Buffer.alloc(CHUNK * 4, 'x') })
    // File systems count in ticks: a file written within this one would look the same after a change.
    site.touch('a.bin', 1_700_000_000)
    let chunks = 0
    const response = await site.found('/a.bin', {
      onChunk: () => {
        if (++chunks === 1) change(site.pathOf('a.bin'))
        return 'go'
      },
    })
    assert.equal(response.isAborted, true)
    assert.ok(response.body.byteLength < CHUNK * 4)
    assert.match(site.problems[0] ?? '', /changed while it was being sent/)
    assert.equal(openCount(site.pathOf('a.bin')), 0)
  })
}

test('goes on with the old file when a new one is put in its place', async (t) => {
  const site = new StaticSite(t, { 'a.bin': Buffer.alloc(CHUNK * 3, 'x'), 'b.bin': Buffer.alloc(CHUNK * 3, 'y') })
  let chunks = 0
  const response = await site.found('/a.bin', {
    onChunk: () => {
      if (++chunks === 1) renameSync(site.pathOf('b.bin'), site.pathOf('a.bin'))
      return 'go'
    },
  })
  assert.equal(response.isAborted, false)
  assert.equal(hash(response.body), hash(Buffer.alloc(CHUNK * 3, 'x')))
})

test('closes the file when the client goes away, also while it is slow', async (t) => {
  const site = new StaticSite(t, { 'a.bin': Buffer.alloc(CHUNK * 8) })
  for (const isSlow of [true, false]) {
    const response = await site.found('/a.bin', {
      onChunk: (_chunk, exchange) => {
        queueMicrotask(() => exchange.disconnect())
        return isSlow ? 'hold' : 'go'
      },
    })
    assert.equal(response.isAborted, true)
    assert.equal(response.body.byteLength, CHUNK)
  }
  const probe = await site.found('/a.bin')
  assert.equal(probe.body.byteLength, CHUNK * 8)
  assert.equal(openCount(site.pathOf('a.bin')), 0)
})

test('writes no faster than the client takes it', async (t) => {
  const content = randomBytes(CHUNK * 5 + 123)
  const site = new StaticSite(t, { 'a.bin': content })
  let isHeld = false
  let drains = 0
  const response = await site.found('/a.bin', {
    onChunk: (chunk, exchange) => {
      assert.equal(isHeld, false, 'nothing is written before the drain')
      assert.ok(chunk.byteLength <= CHUNK)
      isHeld = true
      setImmediate(() => {
        isHeld = false
        drains++
        exchange.drain()
      })
      return 'hold'
    },
  })
  assert.equal(hash(response.body), hash(content))
  assert.equal(drains, 6)
  assert.deepEqual(site.problems, [])
})

test('reads one chunk ahead at most, however large the file', async (t) => {
  const chunks = 64
  const site = new StaticSite(t, { 'a.bin': Buffer.alloc(CHUNK * chunks) })
  const exchange = new RecordedExchange({ onChunk: () => 'hold' })
  const before = process.memoryUsage().arrayBuffers
  assert.equal(await site.files.serve(exchange, '/a.bin'), 'served')
  // Was more of it wanted, it would be read by now: as many reads as there are chunks have ended, one after another.
  const same = await open(site.pathOf('a.bin'))
  const byte = new Uint8Array(1)
  for (let chunk = 0; chunk < chunks; chunk++) assert.equal((await same.read(byte, 0, 1, chunk * CHUNK)).bytesRead, 1)
  await same.close()
  assert.ok(exchange.written.byteLength <= CHUNK)
  assert.ok(process.memoryUsage().arrayBuffers - before < CHUNK * 8)
  exchange.disconnect()
  await exchange.response()
})

for (const size of [1000, CHUNK * 3 + 17]) {
  test(`sends single and multiple ranges of a file of ${size} bytes`, async (t) => {
    const content = randomBytes(size)
    const site = new StaticSite(t, { 'a.bin': content })
    const ask = (range: string, more: Record<string, string> = {}) => site.found('/a.bin', { headers: { range, ...more } })
    const single = await ask(`bytes=10-${size - 5}`)
    assert.equal(single.head.status, 206)
    assert.equal(fieldOf(single.head, 'content-range'), `bytes 10-${size - 5}/${size}`)
    assert.equal(hash(single.body), hash(content.subarray(10, size - 4)))
    assert.equal(hash((await ask('bytes=-7')).body), hash(content.subarray(-7)))

    const several = await ask(`bytes=0-9,${size - 3}-`)
    const boundary = /^multipart\/byteranges; boundary=([0-9a-f]{36})$/.exec(fieldOf(several.head, 'content-type') ?? '')?.[1]
    const part = (from: number, to: number) =>
      Buffer.concat([
        Buffer.from(
          `--${boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ${from}-${to}/${size}\r\n\r\n`,
        ),
        content.subarray(from, to + 1),
        Buffer.from('\r\n'),
      ])
    const expected = Buffer.concat([part(0, 9), part(size - 3, size - 1), Buffer.from(`--${boundary}--\r\n`)])
    assert.equal(several.head.status, 206)
    assert.equal(hash(several.body), hash(expected))

    const beyond = await ask(`bytes=${size}-`)
    assert.deepEqual([beyond.head.status, fieldOf(beyond.head, 'content-range')], [416, `bytes */${size}`])
    assert.equal((await ask('bytes=5-4')).head.status, 200)
    const etag = fieldOf(single.head, 'etag') ?? ''
    assert.equal((await ask('bytes=0-0', { 'if-range': etag })).head.status, 206)
    const changed = await ask('bytes=0-0', { 'if-range': '"other"' })
    assert.deepEqual([changed.head.status, changed.body.byteLength], [200, size])
  })
}

test('cuts ranges from the plain file, and from a compressed one only for clients that have the rest of it', async (t) => {
  const site = new StaticSite(t, { 'a.js': 'plain content', 'a.js.br': 'BROTLI' })
  const headers = { 'accept-encoding': 'br', range: 'bytes=0-1' }
  const plain = await site.found('/a.js', { headers })
  assert.deepEqual([plain.head.status, plain.body.toString(), fieldOf(plain.head, 'content-encoding')], [206, 'pl', undefined])
  assert.equal(fieldOf(plain.head, 'vary'), 'Accept-Encoding')
  const brTag = fieldOf((await site.found('/a.js', { headers: { 'accept-encoding': 'br' } })).head, 'etag') ?? ''
  const coded = await site.found('/a.js', { headers: { ...headers, 'if-range': brTag } })
  assert.deepEqual([coded.head.status, coded.body.toString(), fieldOf(coded.head, 'content-encoding')], [206, 'BR', 'br'])
  const other = await site.found('/a.js', { headers: { ...headers, 'if-range': '"x"' } })
  assert.deepEqual([other.head.status, other.body.toString()], [200, 'BROTLI'])
})

test('sends the bytes of a large precompressed sibling', async (t) => {
  const compressed = randomBytes(CHUNK + 5)
  const site = new StaticSite(t, { 'a.js': 'x'.repeat(CHUNK * 4), 'a.js.br': compressed })
  const response = await site.found('/a.js', { headers: { 'accept-encoding': 'br' } })
  assert.equal(hash(response.body), hash(compressed))
})
