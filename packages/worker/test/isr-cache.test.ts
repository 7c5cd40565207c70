import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import type { MemoryResponse } from '../../engine/test/inject/index.ts'
import type { CannedRender } from './canned-renderer.ts'
import { facts, holdRenders, IsrInstance, page } from './isr-instance.ts'
import { type PipelineServer, shop, type TestSite } from './pipeline-server.ts'

/** Answers each render with its number, so that a test sees which one it got. */
function numbered(reply = page()): (render: CannedRender) => void {
  let count = 0
  return ({ sink }) => sink.complete(reply, Buffer.from(`render ${++count}`))
}

test('a page is rendered once and then served from the store', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered()
  const first = await get(instance, server, '/')
  assert.equal(first.text, 'render 1')
  assert.equal(first.headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  assert.equal(first.headers['cache-control'], 'public, max-age=0, s-maxage=60, stale-while-revalidate=3600')
  instance.clock.advance(19_000)
  const second = await get(instance, server, '/')
  assert.equal(second.text, 'render 1')
  assert.equal(second.headers['cache-status'], 'svc-isr; hit; ttl=41')
  assert.equal(second.headers['age'], '19')
  assert.equal(second.headers['cache-control'], 'public, max-age=0, s-maxage=41, stale-while-revalidate=3600')
  assert.equal(second.headers['etag'], first.headers['etag'])
  assert.deepEqual(await instance.count('cache_hits_total'), { l1: 1, l2: 0 })
  assert.deepEqual(await instance.count('cache_misses_total'), { l1: 1, l2: 0 })
})

test('HEAD and conditions are answered from what GET has stored', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered()
  const etag = (await get(instance, server, '/')).headers['etag'] ?? ''
  assert.match(etag, /^"[\w-]+"$/)
  const head = await get(instance, server, '/', { method: 'HEAD' })
  assert.equal(head.text, '')
  assert.equal(head.headers['content-length'], '8')
  const same = await get(instance, server, '/', { headers: { 'if-none-match': `"other", W/${etag}` } })
  assert.equal(same.status, 304)
  assert.equal(same.headers['etag'], etag)
  assert.match(same.headers['cache-control'] ?? '', /^public/)
  assert.equal(same.headers['content-type'], undefined)
  assert.equal(same.headers['vary'], 'Accept-Encoding')
  const since = await get(instance, server, '/', { headers: { 'if-modified-since': 'Wed, 31 Dec 2025 23:59:59 GMT' } })
  assert.equal(since.status, 304)
  const changed = await get(instance, server, '/', { headers: { 'if-modified-since': 'Wed, 31 Dec 2025 23:59:58 GMT' } })
  assert.equal(changed.status, 200)
  assert.equal(server.renderer.requests.length, 1)
})

test('HEAD for a page that is not stored yet renders and stores it', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered()
  const head = await get(instance, server, '/', { method: 'HEAD' })
  assert.equal(head.text, '')
  assert.equal(server.renderer.requests[0]?.method, 'GET')
  assert.equal((await get(instance, server, '/')).text, 'render 1')
})

test("a stale page is served at once and rendered again in the background, without the client's data", async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/')
  instance.clock.advance(12_000)
  const stale = await get(instance, server, '/', { headers: { cookie: 'a=b', 'x-mine': '1' } })
  assert.equal(stale.text, 'render 1')
  assert.equal(stale.headers['cache-status'], 'svc-isr; hit; ttl=-2')
  assert.equal(stale.headers['cache-control'], 'public, max-age=0, s-maxage=0, stale-while-revalidate=3598')
  const [, background] = server.renderer.requests
  assert.deepEqual(background?.headers, [['host', 'shop.test']])
  assert.equal(background?.mayStream, false)
  const fresh = await get(instance, server, '/')
  assert.equal(fresh.text, 'render 2')
  assert.deepEqual(await instance.count('isr_revalidations_total'), { success: 1, error: 0 })
})

test('a revalidation that fails keeps the stale page, and is tried again after growing pauses', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/')
  instance.clock.advance(12_000)
  server.renderer.answer = ({ sink }) => sink.complete(page(facts(), 500), Buffer.from('broken'))
  for (let round = 0; round < 4; round++) {
    assert.equal((await get(instance, server, '/')).text, 'render 1')
  }
  // The second try follows at once, the third only after a pause.
  assert.deepEqual(await instance.count('isr_revalidations_total'), { success: 0, error: 2 })
  instance.clock.advance(1_000)
  await get(instance, server, '/')
  assert.deepEqual(await instance.count('isr_revalidations_total'), { success: 0, error: 3 })
})

test('a changed site is tried again at once', async (t) => {
  const instance = new IsrInstance()
  const { server, isr } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/')
  instance.clock.advance(12_000)
  server.renderer.answer = ({ sink }) => sink.complete(page(facts(), 500), Buffer.from('broken'))
  for (let round = 0; round < 4; round++) await get(instance, server, '/')
  server.renderer.answer = ({ sink }) => sink.complete(page(facts([], 10)), Buffer.from('repaired'))
  isr.siteChanged('other')
  await get(instance, server, '/')
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  isr.siteChanged('shop')
  await get(instance, server, '/')
  assert.equal((await get(instance, server, '/')).text, 'repaired')
})

test('an expired page is served only when rendering it again fails', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop], '[cache.isr]\ndefault_swr_ms = 1000\n')
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/')
  instance.clock.advance(20_000)
  server.renderer.answer = ({ sink }) => sink.fail(new Error('the host is gone'))
  const kept = await get(instance, server, '/')
  assert.equal(kept.status, 200)
  assert.equal(kept.text, 'render 1')
  assert.equal(kept.headers['cache-status'], 'svc-isr; fwd=stale; detail=error')
  server.renderer.answer = ({ sink }) => sink.complete(page(facts(), 500), Buffer.from('broken'))
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  server.renderer.answer = ({ sink }) => sink.complete(page(), Buffer.from('mended'))
  const mended = await get(instance, server, '/')
  assert.equal(mended.text, 'mended')
  assert.equal(mended.headers['cache-status'], 'svc-isr; fwd=stale; stored')
})

test('a page that reads cookies is rendered for each, and is not waited for', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts(['cookies'])))
  const first = await get(instance, server, '/')
  assert.equal(first.headers['cache-status'], 'svc-isr; fwd=bypass; detail=cookies')
  assert.equal(first.headers['cache-control'], 'private, no-cache, no-store, max-age=0, must-revalidate')
  assert.equal(first.headers['etag'], undefined)
  assert.equal((await get(instance, server, '/')).text, 'render 2')
  assert.equal(instance.leases.asked, 1)
  // A path that turns out storable again is stored at its next request.
  server.renderer.answer = numbered()
  await get(instance, server, '/')
  await get(instance, server, '/')
  assert.equal((await get(instance, server, '/')).headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('the record of an unstorable path ends by time, by a purge and by a code change', async (t) => {
  const instance = new IsrInstance()
  const { server, isr } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts(['headers'])))
  const asked = async () => {
    await get(instance, server, '/')
    return instance.leases.asked
  }
  assert.equal(await asked(), 1)
  assert.equal(await asked(), 1)
  instance.clock.advance(60_000)
  assert.equal(await asked(), 2)
  await instance.purge({})
  assert.equal(await asked(), 3)
  await instance.purge({ scopes: [{ kind: 'tags', tags: ['route:other:/'] }] })
  await instance.purge({ layers: ['l0'] })
  assert.equal(await asked(), 3)
  isr.siteChanged('other')
  assert.equal(await asked(), 3)
  isr.siteChanged('shop')
  assert.equal(await asked(), 4)
})

test('a page that reads the query is stored per query, at the second request for it', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = ({ request, sink }) => sink.complete(page(facts(['query'])), Buffer.from(new URL(request.url).search))
  assert.equal((await get(instance, server, '/?q=1')).headers['cache-status'], 'svc-isr; fwd=uri-miss')
  assert.equal((await get(instance, server, '/?q=1')).headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  assert.equal((await get(instance, server, '/?q=1')).headers['cache-status'], 'svc-isr; hit; ttl=60')
  assert.equal((await get(instance, server, '/?q=2')).text, '?q=2')
  const plain = await get(instance, server, '/')
  assert.equal(plain.headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  assert.equal((await get(instance, server, '/')).headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('a page that does not read the query is one entry for all queries', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered()
  await get(instance, server, '/?a')
  for (let i = 0; i < 5; i++) assert.equal((await get(instance, server, `/?random=${i}`)).text, 'render 1')
})

test('a later render that reads more widens the key for the whole path', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/?a')
  instance.clock.advance(12_000)
  server.renderer.answer = ({ request, sink }) => sink.complete(page(facts(['query'])), Buffer.from(new URL(request.url).search))
  await get(instance, server, '/')
  assert.equal((await get(instance, server, '/')).text, '')
  assert.equal((await get(instance, server, '/?b')).text, '?b')
  assert.deepEqual(instance.store.variance('shop', '/'), { query: true, host: false, isOutdated: false })
})

test('after a change of code the key holds what the new code reads, and the old page is served until then', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts(['query'])))
  await get(instance, server, '/')
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  await instance.purge({ mode: 'stale', changedCode: ['shop'] })
  server.renderer.answer = ({ sink }) => sink.complete(page(facts([])), Buffer.from('new code'))
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  for (const query of ['?a', '?b', '']) assert.equal((await get(instance, server, `/${query}`)).text, 'new code')
  assert.equal(instance.store.variance('shop', '/'), undefined)
  assert.equal(instance.store.size().entries, 1)
})

test('a render that began before a change of code does not say what the new code reads', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  worker.server.renderer.answer = numbered(page(facts(['query'], 10)))
  await get(instance, worker.server, '/')
  instance.clock.advance(12_000)
  const held = holdRenders(worker)
  assert.equal((await worker.server.get('/')).text, 'render 1')
  const { sink } = await waitFor('the render in the background', () => held[0])
  await instance.purge({ mode: 'stale', changedCode: ['shop'] })
  sink.complete(page(facts(['query', 'host'])), Buffer.from('old code'))
  await instance.settled()
  assert.deepEqual(instance.store.variance('shop', '/'), { query: true, host: false, isOutdated: true })
})

test('a page that reads the host is stored per host, and not at all for a host that no site claims', async (t) => {
  const instance = new IsrInstance()
  const site: TestSite = { ...shop, hostnames: ['shop.test', 'www.shop.test', '*.shop.example'] }
  const { server } = await instance.worker(t, [site])
  server.renderer.answer = ({ request, sink }) => sink.complete(page(facts(['host'])), Buffer.from(new URL(request.url).host))
  for (const host of ['shop.test', 'www.shop.test']) {
    assert.equal((await get(instance, server, '/', { host })).text, host)
    const second = await get(instance, server, '/', { host })
    assert.equal(second.text, host)
    assert.equal(second.headers['cache-status'], 'svc-isr; hit; ttl=60')
  }
  const foreign = await get(instance, server, '/', { host: 'evil.test' })
  assert.equal(foreign.text, 'evil.test')
  assert.equal(foreign.headers['cache-status'], 'svc-isr; fwd=bypass; detail=host')
  assert.equal(
    (await get(instance, server, '/', { host: 'evil.test' })).headers['cache-status'],
    'svc-isr; fwd=bypass; detail=host',
  )
  const made = { host: 'a.shop.example' }
  assert.equal((await get(instance, server, '/', made)).headers['cache-status'], 'svc-isr; fwd=uri-miss')
  assert.equal((await get(instance, server, '/', made)).headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
})

test('missing pages are stored at their second request', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts(), 404))
  assert.equal((await get(instance, server, '/nowhere')).headers['cache-status'], 'svc-isr; fwd=uri-miss')
  assert.equal((await get(instance, server, '/nowhere')).headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  const third = await get(instance, server, '/nowhere')
  assert.equal(third.status, 404)
  assert.equal(third.headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('paths that others may read differently, other methods and handlers without revalidate are left alone', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered()
  assert.equal((await get(instance, server, '/items/a%2Fb')).headers['cache-status'], 'svc-isr; fwd=bypass')
  assert.equal(
    (await get(instance, server, '/api', { method: 'POST', body: 'x' })).headers['cache-status'],
    'svc-isr; fwd=method',
  )
  assert.equal((await get(instance, server, '/api')).headers['cache-status'], 'svc-isr; fwd=bypass; detail=revalidate')
  assert.equal(instance.store.size().entries, 0)
})

test('a response that sets a cookie or names its own caching is taken at its word', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10), 200, [['set-cookie', 'a=b']]))
  assert.equal((await get(instance, server, '/api')).headers['cache-status'], 'svc-isr; fwd=bypass; detail=set-cookie')
  server.renderer.answer = numbered(page(facts([], 10), 200, [['cache-control', 'public, max-age=600']]))
  await instance.purge({})
  assert.equal((await get(instance, server, '/api')).headers['cache-control'], 'public, max-age=600')
  const hit = await get(instance, server, '/api')
  assert.equal(hit.headers['cache-control'], 'public, max-age=600')
  assert.equal(hit.headers['cache-status'], 'svc-isr; hit; ttl=10')
})

test('a revalidation whose page has become personal takes the old one away', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/')
  instance.clock.advance(12_000)
  server.renderer.answer = ({ sink }) => sink.complete(page(facts(['cookies'])), Buffer.from('personal'))
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  assert.equal((await get(instance, server, '/')).text, 'personal')
  assert.equal(instance.store.size().entries, 0)
})

test('a page that the store rejects is not rendered for every request', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered(page(facts([], 10)))
  await get(instance, server, '/')
  instance.clock.advance(12_000)
  instance.store.faults.failWrites = true
  for (let request = 0; request < 5; request++) assert.equal((await get(instance, server, '/')).text, 'render 1')
  // The second try follows at once, the third only after a pause.
  assert.equal(server.renderer.requests.length, 3)
  instance.store.faults.failWrites = false
  instance.clock.advance(1_000)
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  assert.equal((await get(instance, server, '/')).text, 'render 4')
})

test('a store that fails costs renders, never a request', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = numbered()
  instance.store.faults.failWrites = true
  instance.store.faults.failReads = true
  assert.equal((await get(instance, server, '/')).text, 'render 1')
  assert.equal((await get(instance, server, '/')).text, 'render 2')
  assert.deepEqual(instance.problems, [])
})

/** Sends a request and waits until its response is in the store: the next one must not join its fill. */
async function get(instance: IsrInstance, server: PipelineServer, url: string, options = {}): Promise<MemoryResponse> {
  const response = await server.get(url, options)
  await instance.settled()
  return response
}
