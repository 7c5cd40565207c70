import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { HeaderList } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { type Asked, CacheInstance } from './proxy-cache-instance.ts'

const fresh = (seconds: number, ...more: HeaderList): HeaderList => [['cache-control', `max-age=${seconds}`], ...more]

describe('a request that changes things', () => {
  test('is answered once the entries that it invalidated are purged', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const other = instance.worker()
    instance.upstream.auto = (asked, number) => {
      const location = asked.request.method === 'POST' ? ([['location', '/named']] as const) : []
      asked.answer(200, fresh(10, ...location), `answer ${number}`)
    }
    for (const path of ['/a', '/named', '/other']) await worker.get(path)
    await instance.settled()
    const gate = Promise.withResolvers<void>()
    instance.purgeGate = gate.promise
    const post = worker.ask('/a', { method: 'POST' })
    await waitFor('the order', () => instance.orders.length > 0)
    assert.deepEqual([post.status, instance.orders.length], [0, 1])
    gate.resolve()
    await post.done.promise
    assert.deepEqual(instance.orders[0]?.scopes, [{ kind: 'uris', uris: ['http://a.org/a', 'http://a.org/named'] }])
    assert.deepEqual([(await other.get('/a')).text, (await other.get('/named')).text], ['answer 5', 'answer 6'])
    assert.equal((await other.get('/other')).text, 'answer 3')
  })

  test('keeps another worker from storing an earlier fill', async (t) => {
    const instance = await CacheInstance.open(t)
    const [worker, other] = [instance.worker(), instance.worker()]
    const before = other.ask('/a')
    const upstream = await instance.upstream.request()
    upstream.head({ status: 200, headers: fresh(10) })
    instance.upstream.auto = (asked) => asked.answer(200, fresh(10), 'new')
    await worker.get('/a', { method: 'POST' })
    await upstream.chunk('old')
    upstream.end()
    await before.done.promise
    await instance.settled()
    assert.deepEqual([before.text, (await other.get('/a')).text], ['old', 'new'])
  })

  const unawaited = [
    ['that bypasses the cache', { isBypassed: true }, 0, 0],
    ['of a request with credentials', { headers: [['authorization', 'Basic eA==']] }, 0, 0],
    ['whose head comes late', {}, 31_000, 0],
    ['whose body comes late', {}, 0, 6_000],
    ['whose body takes long', {}, 31_000, 120_000],
  ] as const satisfies readonly (readonly [string, Asked, number, number])[]
  for (const [title, asked, headMs, bodyMs] of unawaited) {
    test(`keeps another worker from storing an earlier fill ${title}, unless it changes another resource`, async (t) => {
      for (const [changed, expected] of [
        ['/a', 'new'],
        ['/b', 'first'],
      ] as const) {
        const instance = await CacheInstance.open(t)
        const [worker, other] = [instance.worker(), instance.worker()]
        const before = other.ask('/a', asked)
        const upstream = await instance.upstream.request()
        await instance.pass(headMs)
        upstream.head({ status: 200, headers: [['cache-control', 'public, max-age=1000']] })
        await before.started.promise
        await instance.pass(bodyMs)
        instance.upstream.auto = (next) => next.answer(200, fresh(10), 'new')
        await worker.get(changed, { method: 'POST' })
        await upstream.chunk('first')
        upstream.end()
        await before.done.promise
        await instance.settled()
        assert.deepEqual([before.text, (await other.get('/a')).text], ['first', expected])
      }
    })
  }

  test('keeps another worker from storing an earlier fill that followed a failed one', async (t) => {
    const instance = await CacheInstance.open(t)
    const [first, second, worker] = [instance.worker(), instance.worker(), instance.worker()]
    const failed = first.ask('/a')
    const upstream = await instance.upstream.request()
    const before = second.ask('/a')
    await waitFor('the second worker asks for the lease', () => instance.leases.asked === 2)
    upstream.fail(new Error('down'))
    await failed.done.promise
    const next = await instance.upstream.request(1)
    next.head({ status: 200, headers: fresh(10) })
    instance.upstream.auto = (asked) => asked.answer(200, fresh(10), 'new')
    await worker.get('/a', { method: 'POST' })
    await next.chunk('old')
    next.end()
    await before.done.promise
    await instance.settled()
    assert.deepEqual([before.text, (await second.get('/a')).text], ['old', 'new'])
  })

  test('cannot find out about a fill that the master has no room for: its response is not stored', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.leases.isFull = true
    instance.upstream.auto = (asked, number) => asked.answer(200, fresh(10), `answer ${number}`)
    const first = await worker.get('/a')
    await instance.settled()
    assert.deepEqual([first.offers, (await worker.get('/a')).text], [[], 'answer 2'])
  })

  test('costs nothing where nothing is stored, and nothing goes when it failed', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(asked.request.method === 'POST' ? 500 : 200, fresh(10), 'a')
    await worker.get('/b', { method: 'DELETE' })
    await worker.get('/a')
    await instance.settled()
    await worker.get('/a', { method: 'POST' })
    assert.deepEqual(instance.orders, [])
    assert.match((await worker.get('/a')).cacheStatus, /hit/)
  })
})
