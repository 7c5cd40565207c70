import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planeOfTenant } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'
import { FakePlane, vhost } from './fake-plane.ts'

const ADMIN = '/__svc/admin/api'
const get = (path: string, plane?: FakePlane) => callEndpoint(ADMIN + path, { method: 'GET', ...(plane && { plane }) })
const post = (path: string) => callEndpoint(ADMIN + path)

test('the overview counts sites by state, isolates and the share of the caches; a tenant sees those of its own', async () => {
  const { json } = await get('/overview')
  const { sites, isolates, cache, status, generation } = json
  assert.deepEqual([status, generation], ['healthy', 7])
  assert.deepEqual(sites, { total: 3, states: { ok: 1, starting: 2 } })
  assert.deepEqual(isolates, { threads: 1, active: 0, queued: 0 })
  assert.deepEqual(cache, { isr: { entries: 'shop,blog'.length, bytes: 10 }, proxy: { entries: 0, bytes: 0 } })
  const own = planeOfTenant(new FakePlane(), 'acme') as FakePlane
  const cut = (await get('/overview', own)).json
  assert.deepEqual(cut['sites'], { total: 1, states: { ok: 1 } })
  assert.deepEqual(cut['cache'], { isr: { entries: 'shop'.length, bytes: 10 }, proxy: { entries: 0, bytes: 0 } })
})

test('health, configuration, reload and sites are those of the management, for users', async () => {
  const health = await get('/health')
  assert.deepEqual(health.json, { ok: true, status: 'healthy', uptime_secs: 1, checks: { render_pool: 'ok' } })
  assert.deepEqual((await get('/config')).json, (await callEndpoint('/api/config', { method: 'GET' })).json)
  assert.equal((await post('/reload')).json['generation'], 8)
  assert.equal(((await get('/sites')).json['sites'] as unknown[]).length, 3)
  assert.equal((await get('/sites/shop')).json['id'], 'shop')
  assert.deepEqual((await get('/vhosts')).json, { ok: true, vhosts: [vhost], cursor: null })
})

test('sites are found by words of id, tenant and host names, and by their state, page by page', async () => {
  const found = async (query: string) => {
    const { json } = await get(`/sites?${query}`)
    return [(json['sites'] as { id: string }[]).map(({ id }) => id).join(), json['total'], json['all']]
  }
  assert.deepEqual(await found(''), ['shop,blog,blog-old', 3, 3])
  assert.deepEqual(await found('q=OLD%20www'), ['blog-old', 1, 3])
  assert.deepEqual(await found('q=acme'), ['shop', 1, 3])
  assert.deepEqual(await found('state=ok'), ['shop', 1, 3])
  assert.deepEqual(await found('q=none'), ['', 0, 3])
  const { json } = await get('/sites?limit=2')
  assert.deepEqual(await found(`limit=2&cursor=${json['cursor']}`), ['blog-old', 3, 3])
})

test('routes are listed and a site is flushed by its id, which must be of the tenant', async () => {
  const { json } = await get('/sites/shop/routes')
  const routes = [{ pattern: '/', kind: 'page', file: '/srv/shop/app/page.tsx' }]
  assert.deepEqual(json, { ok: true, routes, problems: [], problem_count: 0, cursor: null })
  const flushed = await post('/sites/blog-old/flush')
  assert.deepEqual([flushed.json['layer'], flushed.json['purged'], flushed.json['scope']], ['isolates', 2, { site: 'blog-old' }])
  assert.deepEqual(flushed.plane.calls, [{ flush: 'blog-old' }])
  assert.deepEqual(flushed.plane.orders[0]?.scopes, [{ kind: 'labels', labels: ['blog'] }])
  const own = planeOfTenant(new FakePlane(), 'acme') as FakePlane
  for (const path of ['/sites/gone/routes', '/sites/gone/flush', '/sites/blog/routes', '/sites/blog/flush']) {
    const method = path.endsWith('routes') ? 'GET' : 'POST'
    const { problem } = await callEndpoint(ADMIN + path, { method, plane: own })
    assert.deepEqual([problem?.status, problem?.code], [404, 'unknown_site'], path)
  }
})

test('processes are listed by their places, and one is restarted', async () => {
  const { json } = await get('/workers')
  assert.deepEqual(json['workers'], [
    { id: 'w1', kind: 'connection', pid: 2, state: 'ready', generation: 7, connections: 3 },
    { id: 'h1', kind: 'render', name: 'host-1', pid: 3, state: 'ready', sites: ['shop'] },
  ])
  const begun = await post('/workers/w1/restart')
  assert.equal(begun.status, 202)
  assert.deepEqual(begun.json, { ok: true, restart_id: 'r2', state: 'running', replaced: 0, total: 1 })
  for (const id of ['w2', 'x', 'h0']) assert.equal((await post(`/workers/${id}/restart`)).problem?.code, 'unknown_worker')
})

test('certificates are listed; a renewal is ordered, refused for a file, or not found', async () => {
  const { json } = await get('/certs')
  assert.deepEqual((json['certs'] as { names: string[] }[])[0]?.names, ['a.test'])
  const ordered = await post('/certs/renew?host=Auto.test')
  assert.deepEqual([ordered.status, ordered.json], [202, { ok: true, host: 'auto.test' }])
  const ofFile = await post('/certs/renew?host=file.test')
  assert.deepEqual([ofFile.problem?.status, ofFile.problem?.code], [409, 'certificate_of_file'])
  const plain = await post('/certs/renew?host=shop.test')
  assert.deepEqual([plain.problem?.status, plain.problem?.code], [409, 'no_automatic_certificate'])
  const unknown = await post('/certs/renew?host=gone.test')
  assert.deepEqual([unknown.problem?.status, unknown.problem?.code], [404, 'unknown_host'])
})

test('upstreams are listed with the state over all workers, and a partial sum is marked', async () => {
  const { json } = await get('/upstreams')
  assert.deepEqual([json['workers'], json['is_partial']], [{ answered: 1, total: 2 }, true])
  const [group] = json['upstreams'] as { servers: Record<string, unknown>[] }[]
  assert.deepEqual(
    group?.servers.map(({ address, state, in_flight, failures }) => [address, state, in_flight, failures]),
    [
      ['a:80', 'up', 2, 0],
      ['b:80', 'failing', 0, 3],
      ['c:80', 'down', 0, 0],
    ],
  )
})

test('the audit log is searched by user, operation, result and time', async () => {
  const plane = new FakePlane()
  const caller = { kind: 'user', user: { username: 'root', role: 'super_admin' } } as never
  const ask = async (query: string) => {
    const { json } = await callEndpoint(`/__svc/admin/api/audit?${query}`, { method: 'GET', plane, caller })
    return [plane.calls.pop(), json['cursor']]
  }
  const time = '2026-01-01T00:00:00Z'
  assert.deepEqual(await ask(`user=tom&action=Cache/Purge&result=denied&since=${time}&limit=5`), [
    { audit: { limit: 5, before: undefined, username: 'tom', text: 'cache/purge', result: 'denied', sinceMs: Date.parse(time) } },
    5,
  ])
  const [{ audit }] = (await ask('user=-&cursor=9')) as [{ audit: { username: string; before: number } }]
  assert.deepEqual([audit.username, audit.before], ['', 9])
})
