import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, waitFor } from '@svc/testkit'
import { CacheInstance } from './proxy-cache-instance.ts'

/** Bytes of which no part is like another. */
function counted(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => String(from + index).padStart(10, '0')).join('')
}

/** Lets writes of bodies of an instance begin when `gate` is open; tells of those that are done. */
function gateWrites({ store: { files } }: CacheInstance, gate: Promise<void>): { readonly done: number } {
  const begin = files.begin.bind(files)
  const counts = { done: 0 }
  files.begin = async (label) => {
    const body = await begin(label)
    const write = body.write.bind(body)
    body.write = async (bytes, at) => {
      await gate
      const isWritten = await write(bytes, at)
      counts.done++
      return isWritten
    }
    return body
  }
  return counts
}

test('a response that turns out to be too long while it is spooled reaches slow clients unchanged', async (t) => {
  const instance = await CacheInstance.open(t, 1 << 20)
  const gate = Promise.withResolvers<void>()
  const writes = gateWrites(instance, gate.promise)
  const visitor = instance.worker().ask('/a')
  const upstream = await instance.upstream.request()
  upstream.head({ status: 200, headers: [['cache-control', 'max-age=10']] })
  const parts = [counted(0, 7_000), counted(7_000, 20_000), counted(27_000, 5_001), counted(32_001, 5_003)]
  const [first = '', second = '', third = '', fourth = ''] = parts
  void upstream.chunk(first)
  await upstream.chunk(second)
  visitor.holdBack()
  void upstream.chunk(third)
  void upstream.chunk(fourth)
  gate.resolve()
  await waitFor('what was begun is written', () => writes.done > 0)
  visitor.takeAll()
  upstream.end()
  await visitor.done.promise
  assert.ok(visitor.text === parts.join(''))
  assert.equal(writes.done, 1)
})

test('answers that are written down at the same time do not take more than their share of the disk', async (t) => {
  const instance = await CacheInstance.open(t, 1 << 20)
  const worker = instance.worker()
  const visitors = ['/1', '/2', '/3'].map((path) => worker.ask(path))
  const upstreams = await Promise.all(visitors.map((_, index) => instance.upstream.request(index)))
  for (const upstream of upstreams) {
    upstream.head({ status: 200, headers: [['cache-control', 'max-age=10']] })
    await upstream.chunk('x'.repeat(200_000))
  }
  for (const upstream of upstreams) upstream.end()
  await Promise.all(visitors.map(({ done }) => done.promise))
  assert.deepEqual(
    visitors.map(({ bytes }) => bytes),
    [200_000, 200_000, 200_000],
  )
  await instance.settled()
  instance.upstream.auto = (asked) => asked.answer(200, [], 'asked again')
  const again = await Promise.all(['/1', '/2', '/3'].map((path) => worker.get(path)))
  assert.deepEqual(
    again.map(({ bytes, text }) => (text === 'asked again' ? text : bytes)),
    [200_000, 200_000, 'asked again'],
  )
  // A stored response is no longer in flight.
  instance.upstream.auto = (asked) => asked.answer(200, [['cache-control', 'max-age=10']], 'x'.repeat(200_000))
  await worker.get('/4')
  await instance.settled()
  assert.match((await worker.get('/4')).cacheStatus, /hit/)
})

test('an answer whose file is removed under it reaches its client whole, and is not stored', async (t) => {
  const dir = tempDir(t)
  const instance = await CacheInstance.open(t, 64 << 20, dir)
  const worker = instance.worker()
  const visitor = worker.ask('/a', { isSlow: true })
  const upstream = await instance.upstream.request()
  upstream.head({ status: 200, headers: [['cache-control', 'max-age=10']] })
  await upstream.chunk('x'.repeat(100_000))
  await upstream.chunk('y'.repeat(100_000))
  const incoming = join(dir, 'proxy/incoming')
  assert.equal(readdirSync(incoming).length, 1)
  rmSync(incoming, { recursive: true })
  upstream.end()
  visitor.takeAll()
  await visitor.done.promise
  assert.ok(visitor.text === 'x'.repeat(100_000) + 'y'.repeat(100_000))
  await instance.settled()
  assert.deepEqual(
    instance.problems.map((error) => (error as NodeJS.ErrnoException).code),
    ['ENOENT'],
  )
  instance.upstream.auto = (asked) => asked.answer(200, [], 'asked again')
  assert.equal((await worker.get('/a')).text, 'asked again')
})

test('a client that takes nothing holds up the others of an answer that is not kept for a while alone', async (t) => {
  const instance = await CacheInstance.open(t, 1 << 20)
  const worker = instance.worker()
  const stuck = worker.ask('/a', { isSlow: true })
  const upstream = await instance.upstream.request()
  upstream.head({ status: 200, headers: [['cache-control', 'max-age=10']] })
  const fast = worker.ask('/a')
  for (let index = 0; index < 5; index++) await upstream.chunk('x'.repeat(50_000))
  const sixth = upstream.chunk('y'.repeat(50_000))
  await waitFor('the fast one has all', () => fast.bytes === 300_000)
  assert.deepEqual([upstream.unacked, stuck.error], [1, undefined])
  instance.clock.advance(30_000)
  await sixth
  void upstream.chunk('z')
  upstream.end()
  await fast.done.promise
  assert.deepEqual([fast.bytes, stuck.error?.message], [300_001, 'slow client dropped: it was blocking other readers'])
})
