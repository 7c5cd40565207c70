import assert from 'node:assert/strict'
import { test } from 'node:test'
import { responseKey } from '@svc/cache'
import { AppError } from '@svc/core'
import { streamed } from './canned-renderer.ts'
import { facts, holdRenders, IsrInstance, page, settle } from './isr-instance.ts'
import { shop } from './pipeline-server.ts'

const key = responseKey('shop', '/', { query: false, host: false }, '', '')

test('a thousand requests for one missing page cause one render', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const answers = Array.from({ length: 1000 }, () => worker.server.get('/'))
  await settle()
  assert.equal(held.length, 1)
  held[0]?.sink.complete(page(), Buffer.from('once'))
  const statuses = new Map<string, number>()
  for (const { status, text, headers } of await Promise.all(answers)) {
    assert.equal(`${status} ${text}`, '200 once')
    const word = headers['cache-status'] ?? ''
    statuses.set(word, (statuses.get(word) ?? 0) + 1)
  }
  assert.deepEqual(Object.fromEntries(statuses), {
    'svc-isr; fwd=uri-miss; stored': 1,
    'svc-isr; fwd=uri-miss; stored; collapsed': 999,
  })
  assert.equal(instance.leases.asked, 1)
  assert.deepEqual(await instance.count('cache_stampede_coalesced_total'), { '': 999 })
})

test('requests in two workers cause one render, and the others read what it stored', async (t) => {
  const instance = new IsrInstance()
  const [left, right] = [await instance.worker(t, [shop]), await instance.worker(t, [shop])]
  const held = holdRenders(left)
  const others = holdRenders(right)
  const first = left.server.get('/')
  await settle()
  const second = right.server.get('/')
  await settle()
  assert.deepEqual([held.length, others.length], [1, 0])
  held[0]?.sink.complete(page(), Buffer.from('once'))
  assert.equal((await first).text, 'once')
  const joined = await second
  assert.equal(joined.text, 'once')
  assert.equal(joined.headers['cache-status'], 'svc-isr; hit; ttl=60')
  assert.equal(others.length, 0)
  assert.deepEqual(await instance.count('cache_stampede_coalesced_total'), { '': 1 })
})

test('a miss streams to its client, and waiters get the whole page', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const seen: string[] = []
  const leader = worker.server.get('/', { onChunk: (chunk) => seen.push(chunk.toString()) })
  await settle()
  const waiter = worker.server.get('/')
  const { sink } = held[0] ?? assert.fail('a render has begun')
  sink.head({ status: 200, headers: [['content-type', 'text/html']] })
  sink.chunk(Buffer.from('shell '), () => undefined)
  await settle()
  assert.deepEqual(seen, ['shell '])
  sink.chunk(Buffer.from('rest'), () => undefined)
  sink.end({ ...streamed, cache: facts() })
  const first = await leader
  assert.equal(first.text, 'shell rest')
  assert.equal(first.headers['etag'], undefined)
  assert.equal(first.headers['cache-control'], 'private, no-cache, no-store, max-age=0, must-revalidate')
  const second = await waiter
  assert.equal(second.text, 'shell rest')
  assert.match(second.headers['etag'] ?? '', /^"/)
  await instance.settled()
  assert.equal((await worker.server.get('/')).headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('a slow client of a stream does not block its waiters', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  // Takes one byte and then nothing for as long as it lives.
  const gone = new AbortController()
  const leader = worker.server.get('/', { windowBytes: 0, signal: gone.signal })
  await settle()
  const waiter = worker.server.get('/')
  const { sink } = held[0] ?? assert.fail('a render has begun')
  sink.head({ status: 200, headers: [['content-type', 'text/html']] })
  let acknowledged = 0
  for (let piece = 0; piece < 4; piece++) sink.chunk(Buffer.alloc(1000, 97), () => acknowledged++)
  assert.equal(acknowledged, 4)
  sink.end({ ...streamed, cache: facts() })
  assert.equal((await waiter).text.length, 4000)
  gone.abort()
  await leader
})

test('the render continues for its waiters when its first client disconnects', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const gone = new AbortController()
  const leader = worker.server.get('/', { signal: gone.signal })
  await settle()
  const waiter = worker.server.get('/')
  gone.abort()
  await leader
  assert.deepEqual(worker.server.renderer.aborted, [])
  held[0]?.sink.complete(page(), Buffer.from('made all the same'))
  assert.equal((await waiter).text, 'made all the same')
  await instance.settled()
  assert.equal((await worker.server.get('/')).headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('all waiters render for themselves when the response turns out to be private', async (t) => {
  const instance = new IsrInstance()
  const [left, right] = [await instance.worker(t, [shop]), await instance.worker(t, [shop])]
  const [held, others] = [holdRenders(left), holdRenders(right)]
  const waiting = [left.server.get('/'), left.server.get('/'), left.server.get('/')]
  await settle()
  waiting.push(right.server.get('/'), right.server.get('/'))
  await settle()
  held[0]?.sink.complete(page(facts(['cookies'])), Buffer.from('for one'))
  await settle()
  assert.deepEqual([held.length, others.length], [3, 2])
  for (const { sink, request } of [...held.slice(1), ...others])
    sink.complete(page(facts(['cookies'])), Buffer.from(request.requestId))
  const texts = (await Promise.all(waiting)).map(({ text }) => text)
  assert.equal(texts[0], 'for one')
  assert.deepEqual(instance.leases.outcomes, ['pass'])
})

test('a head that sets a cookie sends the others off before the body has come', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const leader = worker.server.get('/api')
  await settle()
  const waiter = worker.server.get('/api')
  held[0]?.sink.head({ status: 200, headers: [['set-cookie', 'a=b']] })
  await settle()
  assert.equal(held.length, 2)
  held[1]?.sink.complete(page(), Buffer.from('own'))
  assert.equal((await waiter).text, 'own')
  held[0]?.sink.end(streamed)
  assert.equal((await leader).status, 200)
})

test('a response that is too large for the store still reaches everyone', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop], '[cache.isr]\nmax_bytes = 4000\n')
  const held = holdRenders(worker)
  const leader = worker.server.get('/')
  await settle()
  const waiter = worker.server.get('/')
  held[0]?.sink.head({ status: 200, headers: [] })
  held[0]?.sink.chunk(Buffer.alloc(1001), () => undefined)
  await settle()
  held[1]?.sink.complete(page(), Buffer.alloc(1001))
  held[0]?.sink.end({ ...streamed, cache: facts() })
  assert.equal((await leader).body.byteLength, 1001)
  assert.equal((await waiter).body.byteLength, 1001)
  await instance.settled()
  assert.equal(instance.store.size().entries, 0)
})

test('all waiters get the error of a failed render', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const answers = Array.from({ length: 10 }, () => worker.server.get('/'))
  await settle()
  held[0]?.sink.fail(new AppError('RENDER_TIMEOUT', 'too slow', { status: 504 }))
  for (const { status } of await Promise.all(answers)) assert.equal(status, 504)
  assert.equal(held.length, 1)
  // Nothing is remembered of it.
  const next = worker.server.get('/')
  await settle()
  held[1]?.sink.complete(page(), Buffer.from('back'))
  assert.equal((await next).headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
})

test('waiters share an error page that read nothing of its request, but not one that read cookies', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const common = [worker.server.get('/'), worker.server.get('/')]
  await settle()
  held[0]?.sink.complete(page(facts(), 500), Buffer.from('sorry'))
  for (const { status, text } of await Promise.all(common)) assert.equal(`${status} ${text}`, '500 sorry')
  assert.equal(held.length, 1)
  const personal = [worker.server.get('/'), worker.server.get('/')]
  await settle()
  held[1]?.sink.complete(page(facts(['cookies']), 500), Buffer.from('sorry, Ann'))
  await settle()
  held[2]?.sink.complete(page(facts(['cookies']), 500), Buffer.from('sorry, Bob'))
  assert.deepEqual(
    (await Promise.all(personal)).map(({ text }) => text),
    ['sorry, Ann', 'sorry, Bob'],
  )
})

test('a request that waits for another worker renders when that worker fails or dies', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const end = instance.leases.hold(key)
  const answers = [worker.server.get('/'), worker.server.get('/')]
  await settle()
  assert.equal(held.length, 0)
  end('failed')
  await settle()
  assert.equal(held.length, 1)
  held[0]?.sink.complete(page(), Buffer.from('mine'))
  for (const { text } of await Promise.all(answers)) assert.equal(text, 'mine')
})

test('a render that a purge has outlived is sent to its client and not stored; who came later gets a new one', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const before = worker.server.get('/')
  await settle()
  await instance.purge({ scopes: [{ kind: 'tags', tags: ['route:shop:/'] }] })
  const after = worker.server.get('/')
  await settle()
  held[0]?.sink.complete(page(), Buffer.from('old'))
  assert.equal((await before).text, 'old')
  await settle()
  assert.equal(held.length, 2)
  held[1]?.sink.complete(page(), Buffer.from('new'))
  assert.equal((await after).text, 'new')
  await instance.settled()
  assert.equal((await worker.server.get('/')).text, 'new')
})

test('a purge of something else does not disturb a render', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const answer = worker.server.get('/')
  await settle()
  await instance.purge({ scopes: [{ kind: 'tags', tags: ['route:shop:/items/1', 'route:other:/'] }] })
  held[0]?.sink.complete(page(), Buffer.from('kept'))
  assert.equal((await answer).headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  await instance.settled()
  assert.equal((await worker.server.get('/')).headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('a purge between the response and its commit removes the entry, and no request is served from it', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const commit = Promise.withResolvers<void>()
  instance.store.faults.commitGate = commit.promise
  const first = worker.server.get('/')
  await settle()
  held[0]?.sink.complete(page(), Buffer.from('old'))
  assert.equal((await first).text, 'old')
  const purging = instance.purge({})
  const second = worker.server.get('/')
  commit.resolve()
  await purging
  await settle()
  held[1]?.sink.complete(page(), Buffer.from('new'))
  assert.equal((await second).text, 'new')
})

test('a waiter for a page that turns out to depend on the query gets the response to its own query', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const answers = ['/?a', '/?b', '/?b'].map((url) => worker.server.get(url))
  await settle()
  assert.equal(held.length, 1)
  for (let done = 0; done < held.length; done++) {
    held[done]?.sink.complete(page(facts(['query'])), Buffer.from(new URL(held[done]?.request.url ?? '').search))
    await settle()
  }
  assert.deepEqual(
    (await Promise.all(answers)).map(({ text }) => text),
    ['?a', '?b', '?b'],
  )
  assert.equal(held.length, 2)
})

test('many requests for a stale page cause one revalidation in the instance', async (t) => {
  const instance = new IsrInstance()
  const [left, right] = [await instance.worker(t, [shop]), await instance.worker(t, [shop])]
  left.server.renderer.answer = ({ sink }) => sink.complete(page(facts([], 10)), Buffer.from('old'))
  await left.server.get('/')
  await instance.settled()
  instance.clock.advance(12_000)
  const [held, others] = [holdRenders(left), holdRenders(right)]
  const stale = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? left : right).server.get('/')))
  for (const { text } of stale) assert.equal(text, 'old')
  await settle()
  const renders = [...held, ...others]
  assert.equal(renders.length, 1)
  renders[0]?.sink.complete(page(facts([], 10)), Buffer.from('new'))
  await instance.settled()
  for (const { server } of [left, right]) assert.equal((await server.get('/')).text, 'new')
  assert.deepEqual(await instance.count('isr_revalidations_total'), { success: 1, error: 0 })
})

test('a site that changed between match and render is matched again, by all waiters', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const { renderer } = worker.server
  renderer.version = 'old'
  const held = holdRenders(worker)
  const answers = [worker.server.get('/'), worker.server.get('/'), worker.server.get('/')]
  await settle()
  renderer.version = 'new'
  held[0]?.sink.fail(new AppError('RENDER_STALE_MANIFEST', 'changed', { status: 503 }))
  await settle()
  assert.equal(held.length, 2)
  assert.equal(held[1]?.request.manifestVersion, 'new')
  held[1]?.sink.complete(page(), Buffer.from('matched'))
  for (const { text } of await Promise.all(answers)) assert.equal(text, 'matched')
})
