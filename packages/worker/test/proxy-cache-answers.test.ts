import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatHttpDate, type HeaderList } from '@svc/http'
import { UpstreamError } from '../../upstream/src/errors/errors.ts'
import { type Asked, CacheInstance } from './proxy-cache-instance.ts'

const fresh = (seconds: number, ...more: HeaderList): HeaderList => [['cache-control', `max-age=${seconds}`], ...more]
const down = () => new UpstreamError('UPSTREAM_UNREACHABLE', 'down')

describe('a stored answer', () => {
  test('answers until it is stale, and says how old it is', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked, number) => asked.answer(200, fresh(10, ['age', '2']), `answer ${number}`)
    const first = await worker.get('/a')
    assert.deepEqual([first.text, first.field('age'), first.cacheStatus], ['answer 1', '2', 'svc-proxy; fwd=uri-miss; stored'])
    await instance.settled()
    instance.clock.advance(5_000)
    const second = await worker.get('/a')
    assert.deepEqual([second.text, second.field('age'), second.cacheStatus], ['answer 1', '7', 'svc-proxy; hit; ttl=3'])
    assert.equal(second.length, 8)
    instance.clock.advance(3_001)
    assert.equal((await worker.get('/a')).text, 'answer 2')
    assert.deepEqual([instance.metrics.proxyHits.value, instance.metrics.proxyMisses.value], [1, 2])
  })

  test('is for other workers too, and for no other host or query', async (t) => {
    const instance = await CacheInstance.open(t)
    instance.upstream.auto = (asked, number) => asked.answer(200, fresh(10), `answer ${number}`)
    await instance.worker().get('/a')
    await instance.settled()
    const other = instance.worker()
    assert.equal((await other.get('/a')).text, 'answer 1')
    assert.equal((await other.get('/a?q')).text, 'answer 2')
    assert.equal((await other.get('/a', { host: 'b.org' })).text, 'answer 3')
  })

  test('answers HEAD, conditions and ranges', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const modified = formatHttpDate(instance.clock.now() - 50_000)
    const headers = fresh(10, ['etag', '"1"'], ['last-modified', modified], ['content-type', 'text/plain'])
    instance.upstream.auto = (asked) => asked.answer(200, headers, '0123456789')
    await worker.get('/a')
    await instance.settled()
    const answer = async (asked: Asked) => {
      const { status, text, length, headers: fields } = await worker.get('/a', asked)
      return [status, text, length, fields.find(([name]) => name === 'content-range')?.[1]]
    }
    assert.deepEqual(await answer({ method: 'HEAD' }), [200, '', 10, undefined])
    assert.deepEqual(await answer({ headers: [['if-none-match', 'W/"1"']] }), [304, '', undefined, undefined])
    assert.deepEqual(await answer({ headers: [['if-modified-since', modified]] }), [304, '', undefined, undefined])
    assert.deepEqual(await answer({ headers: [['if-match', '"2"']] }), [412, '', 0, undefined])
    assert.deepEqual(await answer({ headers: [['range', 'bytes=2-4']] }), [206, '234', 3, 'bytes 2-4/10'])
    assert.deepEqual(await answer({ headers: [['range', 'bytes=-1']] }), [206, '9', 1, 'bytes 9-9/10'])
    assert.deepEqual(await answer({ headers: [['range', 'bytes=20-']] }), [416, '', 0, 'bytes */10'])
    assert.deepEqual(
      await answer({
        headers: [
          ['range', 'bytes=0-0'],
          ['if-range', '"2"'],
        ],
      }),
      [200, '0123456789', 10, undefined],
    )
    const notModified = await worker.get('/a', { headers: [['if-none-match', '"1"']] })
    assert.deepEqual(
      [notModified.field('etag'), notModified.field('age'), notModified.field('content-type')],
      ['"1"', '0', undefined],
    )
    assert.equal(instance.upstream.requests.length, 1)
  })

  test('that is long is read from its file, in part too', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const body = 'x'.repeat(200_000)
    instance.upstream.auto = (asked) => asked.answer(200, fresh(10), body)
    assert.equal((await worker.get('/a')).bytes, 200_000)
    await instance.settled()
    const whole = await worker.get('/a')
    assert.deepEqual([whole.bytes, whole.length, whole.cacheStatus], [200_000, 200_000, 'svc-proxy; hit; ttl=10'])
    const part = await worker.get('/a', { headers: [['range', 'bytes=150000-150009']] })
    assert.deepEqual([part.status, part.text], [206, 'x'.repeat(10)])
    assert.equal((await worker.get('/a', { method: 'HEAD' })).length, 200_000)
  })

  test('is offered to L0 while it is fresh', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(200, fresh(10, ['etag', '"1"']), 'a')
    const first = await worker.get('/a')
    await instance.settled()
    const hit = await worker.get('/a')
    const part = await worker.get('/a', { headers: [['range', 'bytes=0-0']] })
    assert.deepEqual(
      [first, hit, part].map(({ offers }) => offers.length),
      [1, 1, 0],
    )
    const { createdAt, ttlMs, tags } = hit.offers[0] ?? assert.fail()
    assert.deepEqual([createdAt, ttlMs, tags], [instance.clock.now(), 10_000, ['uri:http://a.org/a']])
  })
})

describe('requests that the cache has no part in', () => {
  const cases: Readonly<Record<string, readonly [string, string, Asked]>> = {
    'with a body, whatever the method': [
      'a',
      'svc-proxy; fwd=bypass',
      { body: { isPresent: true, length: 1, read: () => undefined } },
    ],
    'with another method': ['a', 'svc-proxy; fwd=bypass', { method: 'OPTIONS' }],
    'with a method that changes things': ['a', 'svc-proxy; fwd=method', { method: 'POST' }],
    'for a part of what is not stored': ['a', 'svc-proxy; fwd=uri-miss; detail=range', { headers: [['range', 'bytes=1-2']] }],
    'for the head of what is not stored': ['', 'svc-proxy; fwd=uri-miss; detail=head', { method: 'HEAD' }],
  }
  for (const [name, [, status, asked]] of Object.entries(cases)) {
    test(name, async (t) => {
      const instance = await CacheInstance.open(t)
      const worker = instance.worker()
      instance.upstream.auto = (request) => request.answer(200, fresh(10), 'a')
      assert.equal((await worker.get('/a', asked)).cacheStatus, status)
      const [sent] = instance.upstream.requests
      assert.deepEqual([sent?.request.method, sent?.request.headers], [asked.method ?? 'GET', asked.headers ?? []])
      await instance.settled()
      assert.match((await worker.get('/a')).cacheStatus, /fwd=uri-miss; stored/)
    })
  }

  test('that accept only stored responses get 504', async (t) => {
    const instance = await CacheInstance.open(t)
    const { status } = await instance.worker().get('/a', { headers: [['cache-control', 'only-if-cached']] })
    assert.deepEqual([status, instance.upstream.requests.length], [504, 0])
  })
})

describe('directives of a location', () => {
  test('a bypassed request brings a new answer to all', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked, number) => asked.answer(200, fresh(10), `answer ${number}`)
    await worker.get('/a')
    await instance.settled()
    assert.equal((await worker.get('/a', { isBypassed: true })).text, 'answer 2')
    await instance.settled()
    assert.equal((await worker.get('/a')).text, 'answer 2')
  })

  test('a response that proxy_no_cache excludes is not stored, but stored ones are served', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked, number) => asked.answer(200, fresh(10), `answer ${number}`)
    assert.equal((await worker.get('/a', { mustNotStore: true })).cacheStatus, 'svc-proxy; fwd=uri-miss; detail=no-cache')
    await instance.settled()
    assert.equal((await worker.get('/a')).text, 'answer 2')
    await instance.settled()
    assert.equal((await worker.get('/a', { mustNotStore: true })).text, 'answer 2')
  })

  test('a time for answers that say none', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked, number) => asked.answer(200, [], `answer ${number}`)
    await worker.get('/a', { validSeconds: 5 })
    await instance.settled()
    assert.equal((await worker.get('/a')).cacheStatus, 'svc-proxy; hit; ttl=5')
  })
})

test('a response is stored once it was requested as often as proxy_cache_min_uses says', async (t) => {
  const instance = await CacheInstance.open(t)
  const worker = instance.worker()
  instance.upstream.auto = (asked, number) => asked.answer(200, fresh(5), `answer ${number}`)
  const statuses: string[] = []
  for (let request = 0; request < 4; request++) {
    statuses.push((await worker.get('/a', { minUses: 3 })).cacheStatus)
    await worker.get('/b', { minUses: 2 + request })
    await instance.settled()
  }
  const notYet = 'svc-proxy; fwd=uri-miss; detail=min-uses'
  assert.deepEqual(statuses, [notYet, notYet, 'svc-proxy; fwd=uri-miss; stored', 'svc-proxy; hit; ttl=5'])
  assert.equal((await worker.get('/b')).text, 'answer 8')
})

describe('a stale answer', () => {
  async function stale(t: Parameters<typeof CacheInstance.open>[0], control: string, ...more: HeaderList) {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    instance.upstream.auto = (asked) => asked.answer(200, [['cache-control', control], ...more], 'old')
    await worker.get('/a')
    await instance.settled()
    instance.upstream.auto = undefined
    instance.clock.advance(10_000)
    return { instance, worker, upstream: instance.upstream }
  }

  test('is validated, and then answers on', async (t) => {
    const { instance, worker, upstream } = await stale(t, 'max-age=5', ['etag', '"1"'], ['a', '1'])
    const asked = worker.ask('/a', { headers: [['if-none-match', '"mine"']] })
    const validation = await upstream.request(1)
    assert.equal(validation.field('if-none-match'), '"1"')
    validation.answer(304, fresh(20, ['a', '2']))
    await asked.done.promise
    assert.deepEqual([asked.status, asked.text, asked.field('a'), asked.field('age')], [200, 'old', '2', '0'])
    assert.equal(asked.cacheStatus, 'svc-proxy; fwd=stale; stored')
    await instance.settled()
    assert.equal((await worker.get('/a')).cacheStatus, 'svc-proxy; hit; ttl=20')
  })

  test('with a long body keeps its file when it is validated', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const etag = ['etag', '"1"'] as const
    instance.upstream.auto = (asked) => asked.answer(200, fresh(5, etag), 'x'.repeat(100_000))
    await worker.get('/a')
    await instance.settled()
    instance.clock.advance(10_000)
    instance.upstream.auto = (asked) => asked.answer(304, fresh(5, etag))
    assert.equal((await worker.get('/a')).bytes, 100_000)
    await instance.settled()
    assert.equal((await worker.get('/a')).bytes, 100_000)
    assert.equal(instance.upstream.requests.length, 2)
  })

  test('gives way to a new one', async (t) => {
    const { instance, worker, upstream } = await stale(t, 'max-age=5', ['etag', '"1"'])
    upstream.auto = (asked) => asked.answer(200, fresh(20, ['etag', '"2"']), 'new')
    assert.equal((await worker.get('/a')).text, 'new')
    await instance.settled()
    assert.equal((await worker.get('/a')).text, 'new')
  })

  test('may be served while one revalidation runs for all', async (t) => {
    const { instance, worker, upstream } = await stale(t, 'max-age=5, stale-while-revalidate=60')
    const others = instance.worker()
    for (const one of [worker, others, worker, others]) {
      const { text, cacheStatus } = await one.get('/a')
      assert.deepEqual([text, cacheStatus], ['old', 'svc-proxy; hit; ttl=-5'])
    }
    const validation = await upstream.request(1)
    validation.answer(200, fresh(20), 'new')
    await instance.settled()
    assert.equal((await worker.get('/a')).text, 'new')
    assert.equal(upstream.requests.length, 2)
  })

  test('is validated again after a validation in the background has failed', async (t) => {
    const { instance, worker, upstream } = await stale(t, 'max-age=5, stale-while-revalidate=60')
    upstream.auto = (asked) => asked.fail(down())
    await worker.get('/a')
    await instance.settled()
    await worker.get('/a')
    assert.equal(upstream.requests.length, 2)
    instance.clock.advance(1_001)
    assert.equal((await worker.get('/a')).text, 'old')
    await upstream.request(2)
  })

  test('stands in for an upstream that is down, where it may', async (t) => {
    const cases = [
      ['max-age=5, stale-if-error=60', [], true],
      ['max-age=5', ['error'], true],
      ['max-age=5', ['timeout'], false],
      ['max-age=5', [], false],
      ['max-age=5, stale-if-error=1', [], false],
      ['max-age=5, must-revalidate, stale-if-error=60', ['error'], false],
      ['max-age=5, proxy-revalidate', ['error'], false],
      ['s-maxage=5', ['error'], false],
    ] as const
    for (const [control, useStale, isUsed] of cases) {
      const { worker, upstream } = await stale(t, control, ['etag', '"1"'])
      upstream.auto = (asked) => asked.fail(down())
      const { text, error, cacheStatus } = await worker.get('/a', { useStale })
      assert.deepEqual([text, error === undefined], [isUsed ? 'old' : '', isUsed], `${control} ${useStale}`)
      if (isUsed) assert.equal(cacheStatus, 'svc-proxy; fwd=stale; detail=error')
    }
  })

  test('stands in for errors of the upstream, where it may', async (t) => {
    const cases = [
      ['max-age=5, stale-if-error=60', 503, [], 'old'],
      ['max-age=5', 503, ['http_503'], 'old'],
      ['max-age=5', 404, ['http_404'], 'old'],
      ['max-age=5', 503, ['http_500'], 'failed'],
      ['max-age=5, stale-if-error=60', 404, [], 'failed'],
    ] as const
    for (const [control, status, useStale, expected] of cases) {
      const { worker, upstream } = await stale(t, control, ['etag', '"1"'])
      upstream.auto = (asked) => asked.answer(status, [], 'failed')
      assert.equal((await worker.get('/a', { useStale })).text, expected, `${control} ${status} ${useStale}`)
    }
  })

  test('answers requests that arrive while it is fetched (updating)', async (t) => {
    const { worker, upstream } = await stale(t, 'max-age=5', ['etag', '"1"'])
    const first = worker.ask('/a', { useStale: ['updating'] })
    const second = await worker.get('/a', { useStale: ['updating'] })
    assert.equal(second.text, 'old')
    ;(await upstream.request(1)).answer(200, fresh(5), 'new')
    await first.done.promise
    assert.equal(first.text, 'new')
  })
})

test('a stale answer goes to the first client too, where it is refreshed in the background', async (t) => {
  const instance = await CacheInstance.open(t)
  const worker = instance.worker()
  instance.upstream.auto = (asked) => asked.answer(200, fresh(5), 'old')
  await worker.get('/a')
  await instance.settled()
  instance.upstream.auto = undefined
  instance.clock.advance(10_000)
  const asked = { useStale: ['updating'], isRefreshedBehind: true }
  assert.equal((await worker.get('/a', asked)).text, 'old')
  ;(await instance.upstream.request(1)).answer(200, fresh(5), 'new')
  await instance.settled()
  assert.equal((await worker.get('/a', asked)).text, 'new')
})

describe('credentials', () => {
  test('bring private responses, unless the upstream says otherwise', async (t) => {
    const instance = await CacheInstance.open(t)
    const worker = instance.worker()
    const authorization: HeaderList = [['authorization', 'x']]
    instance.upstream.auto = (asked, number) => {
      const control = asked.request.target === '/public' ? 'public, max-age=9' : 'max-age=9'
      asked.answer(200, [['cache-control', control]], `answer ${number}`)
    }
    assert.equal(
      (await worker.get('/own', { headers: authorization })).cacheStatus,
      'svc-proxy; fwd=uri-miss; detail=authorization',
    )
    assert.equal((await worker.get('/own')).text, 'answer 2')
    await instance.settled()
    // A response stored without credentials may differ from one with them.
    const { asked } = instance.leases
    assert.equal((await worker.get('/own', { headers: authorization })).text, 'answer 3')
    assert.equal((await worker.get('/own')).text, 'answer 2')
    await worker.get('/private', { headers: authorization })
    await worker.get('/private', { headers: authorization })
    assert.equal(instance.leases.asked - asked, 2, 'the last one goes without a lease: its response could not be stored lately')
    await worker.get('/public', { headers: authorization })
    await instance.settled()
    assert.equal((await worker.get('/public')).text, 'answer 6')
    assert.equal((await worker.get('/public', { headers: authorization })).text, 'answer 6')
  })
})
