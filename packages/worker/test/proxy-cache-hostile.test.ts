import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { HeaderList } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { UpstreamError } from '../../upstream/src/errors/errors.ts'
import { type Asked, CacheInstance, type UpstreamRequest } from './proxy-cache-instance.ts'

const fresh = (seconds: number, ...more: HeaderList): HeaderList => [['cache-control', `max-age=${seconds}`], ...more]
const noStore: Asked = { headers: [['cache-control', 'no-store']] }
const bad: Asked = { headers: [['x-bad', '1']] }

/** Answers so that it may be kept, except for who sends what is bad. */
function picky(asked: UpstreamRequest): void {
  if (asked.field('x-bad') === undefined) asked.answer(200, fresh(10, ['etag', '"1"']), 'good')
  else asked.answer(400, [], 'bad')
}

describe('one client', () => {
  test('that forbids storing does not keep the answer from being stored for others', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = picky
    assert.match((await worker.get('/a', noStore)).cacheStatus, /fwd=uri-miss; detail=request/)
    assert.match((await worker.get('/a')).cacheStatus, /fwd=uri-miss; stored/)
    await instance.settled()
    assert.match((await worker.get('/a')).cacheStatus, /hit/)
  })

  test('that forbids storing does not prevent the revalidation of a stale response', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked, number) =>
      asked.answer(200, [['cache-control', 'max-age=1, stale-while-revalidate=60']], `answer ${number}`)
    await worker.get('/a')
    await instance.settled()
    instance.clock.advance(2_000)
    assert.equal((await worker.get('/a', noStore)).text, 'answer 1')
    await waitFor('the new one', async () => (await worker.get('/a')).text === 'answer 2')
    assert.equal(instance.upstream.requests.length, 2)
  })

  test('of an upstream that sends byte by byte cannot keep a refresh running: it ends when no client reads it', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(200, [['cache-control', 'max-age=1, stale-while-revalidate=6000']], 'old')
    await worker.get('/a')
    await instance.settled()
    instance.clock.advance(2_000)
    instance.upstream.auto = undefined
    assert.equal((await worker.get('/a')).text, 'old')
    const trickling = await instance.upstream.request(1)
    trickling.head({ status: 200, headers: fresh(60) })
    await trickling.chunk('a')
    instance.clock.advance(299_000)
    await trickling.chunk('b')
    assert.equal(trickling.isAborted, false)
    instance.clock.advance(2_000)
    assert.equal(trickling.isAborted, true)
    assert.equal((await worker.get('/a')).text, 'old')
    await instance.upstream.request(2)
  })

  test('whose request is refused turns the cache off for no longer than that', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = picky
    assert.equal((await worker.get('/a', bad)).status, 400)
    await worker.get('/a')
    assert.match((await worker.get('/a')).cacheStatus, /fwd=uri-miss; stored/)
    await instance.settled()
    assert.match((await worker.get('/a')).cacheStatus, /hit/)
  })

  test('a request that arrives while a failure is sent gets it whole, or one of its own', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const first = worker.ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head({ status: 503, headers: [] })
    await upstream.chunk('one ')
    const second = worker.ask('/a')
    await waitFor('the second has an answer or its own request', () => second.status > 0 || instance.upstream.requests.length > 1)
    instance.upstream.requests[1]?.answer(503, [], 'its own')
    await upstream.chunk('two')
    upstream.end()
    await Promise.all([first.done.promise, second.done.promise])
    assert.equal(first.text, 'one two')
    assert.ok(['one two', 'its own'].includes(second.text), second.text)
  })

  test('an error page for a client with cookies is not shown to others', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(500, [], `of ${asked.field('cookie')}`)
    const visitors = ['a=1', 'a=2', 'a=3'].map((cookie) => worker.ask('/a', { headers: [['cookie', cookie]] }))
    await Promise.all(visitors.map(({ done }) => done.promise))
    assert.deepEqual(
      visitors.map(({ text }) => text),
      ['of a=1', 'of a=2', 'of a=3'],
    )
  })
})

test('a page for a client with a cookie is not shown to others, not even when the upstream is down', async (t) => {
  const instance = await CacheInstance.open(t)
  const worker = instance.worker()
  const by = (cookie: string): Asked => ({ headers: [['cookie', cookie]], useStale: ['error', 'timeout'] })
  instance.upstream.auto = (asked) => asked.answer(200, [['etag', `W/"${asked.field('cookie')}"`]], `of ${asked.field('cookie')}`)
  assert.equal((await worker.get('/account', by('a=1'))).text, 'of a=1')
  await instance.settled()
  instance.upstream.auto = (asked) => asked.fail(new UpstreamError('UPSTREAM_UNREACHABLE', 'down'))
  assert.equal((await worker.get('/account', by('a=2'))).error?.message, 'down')
})

describe('an upstream that says that nothing has changed', () => {
  test('but what the answer depends on is asked for all of it', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const vary = ['vary', 'X-A'] as const
    instance.upstream.auto = (asked, number) => {
      const fields = fresh(10, ['etag', '"1"'], ...(number === 1 ? [] : [vary]))
      if (asked.field('if-none-match') === undefined) asked.answer(200, fields, `answer ${number} for ${asked.field('x-a')}`)
      else asked.answer(304, fields)
    }
    const text = async (value: string) => (await worker.get('/a', { headers: [['x-a', value]] })).text
    assert.equal(await text('1'), 'answer 1 for 1')
    await instance.settled()
    instance.clock.advance(11_000)
    assert.equal(await text('1'), 'answer 3 for 1')
    await instance.settled()
    assert.equal(await text('2'), 'answer 4 for 2')
    assert.equal(await text('1'), 'answer 3 for 1')
  })

  test('and not when it said so, is believed', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const date = new Date(instance.clock.now()).toUTCString()
    instance.upstream.auto = (asked, number) =>
      number === 1 ? asked.answer(200, fresh(10, ['etag', '"1"'], ['date', date]), 'a') : asked.answer(304, fresh(10))
    await worker.get('/a')
    await instance.settled()
    instance.clock.advance(60_000)
    assert.match((await worker.get('/a')).cacheStatus, /fwd=stale; stored/)
    await instance.settled()
    assert.match((await worker.get('/a')).cacheStatus, /hit; ttl=10/)
  })
})
