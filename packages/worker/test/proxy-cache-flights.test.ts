import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { HeaderList } from '@svc/http'
import { tempDir, waitFor } from '@svc/testkit'
import { UpstreamError } from '../../upstream/src/errors/errors.ts'
import { CacheInstance, type CacheVisitor } from './proxy-cache-instance.ts'

const fresh = (seconds: number, ...more: HeaderList): HeaderList => [['cache-control', `max-age=${seconds}`], ...more]
const head = (headers: HeaderList, status = 200) => ({ status, headers })

function all(visitors: readonly CacheVisitor[]): Promise<unknown> {
  return Promise.all(visitors.map(({ done }) => done.promise))
}

describe('requests for the same', () => {
  test('are one for the upstream, over all workers', async (t) => {
    const instance = await CacheInstance.open(t)
    const workers = [instance.worker(), instance.worker()]
    const visitors = Array.from({ length: 1_000 }, (_, index) => (workers[index % 2] ?? assert.fail()).ask('/a'))
    ;(await instance.upstream.request()).answer(200, fresh(10), 'once')
    await all(visitors)
    assert.ok(visitors.every(({ text }) => text === 'once'))
    assert.equal(instance.upstream.requests.length, 1)
    assert.equal(instance.metrics.coalesced.value, 998)
    const words = new Set(visitors.map(({ cacheStatus }) => cacheStatus))
    assert.deepEqual(
      words,
      new Set(['svc-proxy; fwd=uri-miss; stored', 'svc-proxy; fwd=uri-miss; stored; collapsed', 'svc-proxy; hit; ttl=10']),
    )
  })

  test('get the answer as it comes, and who comes later gets it from its beginning', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const first = worker.ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    await upstream.chunk('one ')
    assert.deepEqual([first.status, first.text], [200, 'one '])
    const second = worker.ask('/a')
    assert.deepEqual([second.status, second.text], [200, 'one '])
    await upstream.chunk('two')
    upstream.end()
    await all([first, second])
    assert.deepEqual([first.text, second.text], ['one two', 'one two'])
  })

  test('are not held up by one that is slow, however long the answer', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const slow = worker.ask('/a', { isSlow: true })
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    const fast = worker.ask('/a')
    for (let index = 0; index < 30; index++) await upstream.chunk('x'.repeat(50_000))
    upstream.end()
    await fast.done.promise
    assert.equal(fast.bytes, 1_500_000)
    assert.equal(slow.bytes, 50_000)
    await instance.settled()
    slow.takeAll()
    await slow.done.promise
    assert.equal(slow.bytes, 1_500_000)
    assert.equal((await worker.get('/a')).bytes, 1_500_000)
  })

  test('get all of an answer that comes faster than it can be written down', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const visitor = worker.ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    await Promise.all(Array.from({ length: 20 }, (_, index) => upstream.chunk(String(index % 10).repeat(20_000))))
    assert.equal(upstream.unacked, 0)
    upstream.end()
    await visitor.done.promise
    await instance.settled()
    assert.deepEqual([visitor.bytes, (await worker.get('/a')).text === visitor.text], [400_000, true])
  })

  test('for a part from the beginning bring the whole, which is kept', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const visitor = worker.ask('/a', { headers: [['range', 'bytes=0-3']] })
    const upstream = await instance.upstream.request()
    assert.equal(upstream.field('range'), undefined)
    upstream.answer(200, fresh(10), '0123456789')
    await visitor.done.promise
    assert.deepEqual([visitor.status, visitor.text, visitor.field('content-range')], [206, '0123', 'bytes 0-3/10'])
    await instance.settled()
    assert.equal((await worker.get('/a')).text, '0123456789')
  })

  test('wait for a part of a long response only: a range in the middle ends there', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const conditional = worker.ask('/a', { headers: [['if-none-match', '"1"']] })
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10, ['etag', '"1"'])), 200_000)
    await conditional.done.promise
    assert.equal(conditional.status, 304)
    await upstream.chunk('x'.repeat(200_000))
    upstream.end()
    await instance.settled()
    assert.equal((await worker.get('/a')).bytes, 200_000)
  })

  test('go on for themselves when the answer is not for all', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const visitors = Array.from({ length: 5 }, () => worker.ask('/a'))
    instance.upstream.auto = (asked, number) => asked.answer(200, [['set-cookie', `id=${number}`]], `own ${number}`)
    await waitFor('the first is asked', () => instance.upstream.requests.length > 0)
    instance.upstream.auto = (asked, number) => asked.answer(200, [['set-cookie', `id=${number}`]], `own ${number}`)
    await all(visitors)
    assert.equal(new Set(visitors.map(({ text }) => text)).size, 5)
    assert.equal(new Set(visitors.map((one) => one.field('set-cookie'))).size, 5)
    // The next ones do not wait either.
    const later = [worker.ask('/a'), worker.ask('/a')]
    await all(later)
    assert.ok(later.every(({ cacheStatus }) => cacheStatus === 'svc-proxy; fwd=uri-miss; detail=set-cookie'))
    assert.equal(instance.leases.asked, 1)
  })

  test('get a failure together: it is not repeated for each', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const answered = Array.from({ length: 5 }, () => worker.ask('/a'))
    ;(await instance.upstream.request()).answer(503, [], 'busy')
    await all(answered)
    assert.ok(answered.every(({ text, status }) => text === 'busy' && status === 503))
    await instance.settled()
    const failed = Array.from({ length: 5 }, () => worker.ask('/a'))
    ;(await instance.upstream.request(1)).fail(new UpstreamError('UPSTREAM_TIMEOUT', 'slow'))
    await all(failed)
    assert.ok(failed.every(({ error }) => error?.message === 'slow'))
    assert.equal(instance.upstream.requests.length, 2)
  })

  test('wait for their own variant', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(200, fresh(10, ['vary', 'foo']), `for ${asked.field('foo')}`)
    const visitors = ['1', '2', '1', '3', '2'].map((foo) => worker.ask('/a', { headers: [['foo', foo]] }))
    await all(visitors)
    assert.deepEqual(
      visitors.map(({ text }) => text),
      ['for 1', 'for 2', 'for 1', 'for 3', 'for 2'],
    )
    await instance.settled()
    assert.equal((await worker.get('/a', { headers: [['foo', '2']] })).cacheStatus, 'svc-proxy; hit; ttl=10')
    assert.match((await worker.get('/a', { headers: [['foo', '9']] })).cacheStatus, /fwd=vary-miss; stored/)
  })

  test('with credentials do not share an answer that was made for others', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const plain = worker.ask('/a')
    const own = worker.ask('/a', { headers: [['authorization', 'x']] })
    const upstream = await instance.upstream.request(1)
    for (const asked of instance.upstream.requests) asked.answer(200, fresh(10), asked.field('authorization') ?? 'plain')
    assert.ok(upstream)
    await all([plain, own])
    assert.deepEqual([plain.text, own.text], ['plain', 'x'])
  })

  test('are one for the upstream where the answer is stored between the look-up and the lease of another worker', async (t) => {
    const instance = await CacheInstance.open(t)
    const first = instance.worker().ask('/a')
    const upstream = await instance.upstream.request()
    const gate = Promise.withResolvers<void>()
    instance.leases.gate = gate.promise
    const second = instance.worker().ask('/a')
    upstream.answer(200, fresh(10), 'once')
    await first.done.promise
    await instance.settled()
    gate.resolve()
    await Promise.race([second.done.promise, instance.upstream.request(1)])
    assert.deepEqual([second.text, second.cacheStatus], ['once', 'svc-proxy; hit; ttl=10'])
    assert.equal(instance.upstream.requests.length, 1)
  })

  test('are not answered from an entry that was purged while they waited for another worker', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(200, fresh(1, ['etag', '"1"']), 'purged')
    await worker.get('/a')
    await instance.settled()
    instance.upstream.auto = undefined
    instance.clock.advance(2_000)
    const gate = Promise.withResolvers<void>()
    instance.leases.gate = gate.promise
    const useStale = ['updating', 'error']
    const before = worker.ask('/a', { useStale })
    await instance.purge({ layers: ['proxy'], scopes: [{ kind: 'hosts', hosts: ['a.org'] }], mode: 'drop' })
    const after = worker.ask('/a', { useStale })
    assert.equal(after.text, '')
    gate.resolve()
    const upstream = await instance.upstream.request(1)
    assert.equal(upstream.field('if-none-match'), undefined)
    upstream.fail(new UpstreamError('UPSTREAM_UNREACHABLE', 'down'))
    await all([before, after])
    assert.deepEqual([before.error?.message, after.error?.message, after.text], ['down', 'down', ''])
  })

  test('do not wait for another worker for ever', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const first = worker.ask('/a')
    await instance.upstream.request()
    const other = instance.worker().ask('/a')
    await waitFor('the other asks for the lease', () => instance.leases.asked === 2)
    instance.clock.advance(30_000)
    const upstream = await instance.upstream.request(1)
    upstream.answer(200, fresh(10), 'second')
    await other.done.promise
    assert.equal(other.text, 'second')
    ;(await instance.upstream.request()).answer(200, fresh(10), 'first')
    await first.done.promise
    assert.equal(first.text, 'first')
  })
})

describe('an answer that is not stored', () => {
  async function expectMiss(instance: CacheInstance): Promise<void> {
    await instance.settled()
    const { length } = instance.upstream.requests
    const next = instance.worker().ask('/a')
    ;(await instance.upstream.request(length)).answer(200, [], 'asked again')
    await next.done.promise
    assert.equal(next.text, 'asked again')
  }

  test('because it broke off', async (t) => {
    const instance = await CacheInstance.open(t)
    const visitor = instance.worker().ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)), 200_000)
    await upstream.chunk('x'.repeat(100_000))
    upstream.fail(new UpstreamError('UPSTREAM_CUT', 'cut'))
    await visitor.done.promise
    assert.equal(visitor.error?.message, 'cut')
    await expectMiss(instance)
  })

  test('because it was shorter than it said', async (t) => {
    const instance = await CacheInstance.open(t)
    const visitor = instance.worker().ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)), 10)
    await upstream.chunk('short')
    upstream.end()
    await visitor.done.promise
    await expectMiss(instance)
  })

  test('because it had fields behind its body', async (t) => {
    const instance = await CacheInstance.open(t)
    const visitor = instance.worker().ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    await upstream.chunk('body')
    upstream.end([['x-sum', '1']])
    await visitor.done.promise
    await expectMiss(instance)
  })

  test('because a purge arrived during the fill, and later requests do not get it', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const before = worker.ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    await instance.purge({ layers: ['proxy'], scopes: [{ kind: 'hosts', hosts: ['a.org'] }], mode: 'drop' })
    const after = worker.ask('/a', { headers: [['authorization', 'x']] })
    await upstream.chunk('old')
    upstream.end()
    await before.done.promise
    assert.equal(before.text, 'old')
    ;(await instance.upstream.request(1)).answer(200, [], 'new')
    await after.done.promise
    assert.equal(after.text, 'new')
    await expectMiss(instance)
  })

  test('because it turns out to be too long, and every client gets the whole', async (t) => {
    const instance = await CacheInstance.open(t, 1 << 20)
    const worker = instance.worker()
    const slow = worker.ask('/a', { isSlow: true })
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    const fast = worker.ask('/a')
    for (let index = 0; index < 5; index++) await upstream.chunk(String(index).repeat(50_000))
    const sixth = upstream.chunk('5'.repeat(50_000))
    await waitFor('the fast one has all', () => fast.bytes === 300_000)
    // From now on the slowest reader decides.
    assert.equal(upstream.unacked, 1)
    slow.takeAll()
    await sixth
    await upstream.chunk('6')
    upstream.end()
    await all([slow, fast])
    const whole = [0, 1, 2, 3, 4, 5].map((digit) => String(digit).repeat(50_000)).join('')
    assert.ok(slow.text === `${whole}6` && fast.text === `${whole}6`)
    await expectMiss(instance)
  })

  test('because the disk is full, and every client gets the whole', async (t) => {
    const dir = tempDir(t)
    const instance = await CacheInstance.open(t, 64 << 20, dir)
    // A file in the place of the directory: not even root can write below it.
    rmSync(join(dir, 'proxy/incoming'), { recursive: true, force: true })
    writeFileSync(join(dir, 'proxy/incoming'), '')
    const visitor = instance.worker().ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    for (let index = 0; index < 10; index++) await upstream.chunk(String(index).repeat(50_000))
    upstream.end()
    await visitor.done.promise
    assert.equal(visitor.text, Array.from({ length: 10 }, (_, digit) => String(digit).repeat(50_000)).join(''))
    assert.match(instance.problems[0]?.message ?? '', /ENOTDIR|EEXIST/)
    await expectMiss(instance)
  })
})

describe('a client that leaves', () => {
  test('leaves an answer behind that is kept', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const visitor = worker.ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    await upstream.chunk('one ')
    visitor.source?.abort()
    await upstream.chunk('two')
    upstream.end()
    await instance.settled()
    assert.equal((await worker.get('/a')).text, 'one two')
    assert.equal(visitor.text, 'one ')
  })

  test('aborts a request without other waiters', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const waiting = worker.ask('/a')
    const asked = await instance.upstream.request()
    waiting.source?.abort()
    assert.equal(asked.isAborted, true)
    const reading = worker.ask('/b')
    const unstored = await instance.upstream.request(1)
    unstored.head(head([]))
    void unstored.chunk('one')
    reading.source?.abort()
    assert.equal(unstored.isAborted, true)
    assert.equal(instance.leases.held, 0)
  })

  test('leaves the others theirs', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const [leader, other] = [worker.ask('/a'), worker.ask('/a')]
    const upstream = await instance.upstream.request()
    leader.source?.abort()
    assert.equal(upstream.isAborted, false)
    upstream.answer(200, fresh(10), 'answer')
    await other.done.promise
    assert.equal(other.text, 'answer')
  })

  test('gives its file back', async (t) => {
    const dir = tempDir(t)
    const instance = await CacheInstance.open(t, 64 << 20, dir)
    const visitor = instance.worker().ask('/a', { isSlow: true })
    const upstream = await instance.upstream.request()
    upstream.head(head(fresh(10)))
    await upstream.chunk('x'.repeat(200_000))
    visitor.source?.abort()
    upstream.fail(new UpstreamError('UPSTREAM_CUT', 'cut'))
    const incoming = join(dir, 'proxy/incoming')
    await waitFor('the file goes', () => !existsSync(incoming) || readdirSync(incoming).length === 0)
  })
})
