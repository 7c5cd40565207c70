import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEndpoints, EndpointTable, listEndpoints, type PurgeOrder } from '../src/index.ts'
import { callEndpoint as call } from './call-endpoint.ts'
import { preview } from './config-samples.ts'
import { FakePlane } from './fake-plane.ts'

const all = ['l0', 'isr', 'proxy'] as const

test('each management endpoint answers below /__svc/ for the machine itself, and below /api/ for a super_admin', () => {
  const listed = listEndpoints(allEndpoints).filter(({ path }) => /^(?:\/__svc)?\/api\/(?!openapi)/.test(path))
  const places = listed.map(({ method, path, access }) => `${method} ${path} ${access}`)
  const own = places.filter((place) => place.includes('/__svc/'))
  assert.deepEqual(
    places.filter((place) => !place.includes('/__svc/')),
    own.map((place) => place.replace('/__svc', '').replace(' loopback', ' super_admin')),
  )
  assert.ok(own.includes('GET /__svc/api/sites/:id loopback'))
})

test('paths below /api/ that are none of the management belong to sites, with any method', () => {
  const table = new EndpointTable(listEndpoints(allEndpoints))
  assert.equal(table.match('GET', '/api/posts'), undefined)
  assert.equal(table.match('GET', '/api/sites/shop/reviews'), undefined)
  assert.equal(table.match('GET', '/api/sites/shop')?.kind, 'endpoint')
  assert.equal(table.match('POST', '/api/sites/shop/isolate/flush')?.kind, 'endpoint')
  assert.equal(table.match('PUT', '/api/sites/shop')?.kind, 'wrong-method')
})

test('an invalidation drops from all layers; host and site narrow it, tags, paths and pattern add up', async () => {
  const tags = ['posts']
  const paths = ['/a']
  const orders: [body: Record<string, unknown>, orders: Omit<PurgeOrder, 'mode'>[]][] = [
    [{ tags }, [{ layers: all, scopes: [{ kind: 'tags', tags }] }]],
    [{ pattern: '*' }, [{ layers: all, scopes: [{ kind: 'pattern', pattern: '*', labels: null }] }]],
    [{ site: 'blog-old' }, [{ layers: all, scopes: [{ kind: 'labels', labels: ['blog'] }], labels: ['blog'] }]],
    [
      { site: 'shop', tags, paths },
      [
        {
          layers: all,
          scopes: [
            { kind: 'tags', tags },
            { kind: 'paths', paths, hosts: null },
          ],
          labels: ['shop'],
        },
      ],
    ],
    [
      { host: 'shop.test' },
      [
        { layers: ['l0', 'proxy'], scopes: [{ kind: 'hosts', hosts: ['shop.test'] }], labels: ['shop'] },
        { layers: ['isr'], scopes: [{ kind: 'labels', labels: ['shop'] }], labels: ['shop'] },
      ],
    ],
    [
      { host: 'shop.test', paths },
      [
        { layers: ['l0', 'proxy'], scopes: [{ kind: 'paths', paths, hosts: ['shop.test'] }], labels: ['shop'] },
        { layers: ['isr'], scopes: [{ kind: 'paths', paths, hosts: null }], labels: ['shop'] },
      ],
    ],
    [{ host: 'nowhere.test' }, [{ layers: ['l0', 'proxy'], scopes: [{ kind: 'hosts', hosts: ['nowhere.test'] }] }]],
    [{ paths: [] }, [{ layers: all, scopes: [{ kind: 'paths', paths: [], hosts: null }] }]],
  ]
  for (const [body, expected] of orders) {
    const { plane, json } = await call('/api/invalidate', { body })
    assert.deepEqual(
      plane.orders,
      expected.map((order) => ({ ...order, mode: 'drop' })),
    )
    const { layer, purged, also, scope } = json
    const times = expected.length
    assert.deepEqual([layer, purged, scope], ['all', 5 * times, body])
    assert.deepEqual(also, { l0: 3 * times, isr: 2 * times, l2: 0, proxy: 0 })
  }
})

test('an invalidation or revalidation of nothing is refused, and one of an unknown site is not found', async () => {
  for (const path of ['/api/invalidate', '/__svc/api/revalidate']) {
    const nothing = await call(path)
    assert.deepEqual([nothing.status, nothing.problem?.code, nothing.plane.orders], [400, 'invalid_request', []])
    const unknown = await call(path, { body: { site: 'gone' } })
    assert.deepEqual([unknown.status, unknown.problem?.code, unknown.plane.orders], [404, 'unknown_site', []])
  }
})

test('a revalidation finds the stored pages, marks them as stale and queues their renders, in this order', async () => {
  const page = { site: 'shop', path: '/', query: '' }
  const cases: [body: Record<string, unknown>, stored: unknown, queued: number][] = [
    [{ site: 'shop' }, { labels: ['shop'], tags: undefined, paths: undefined }, 1],
    [{ host: 'shop.test', paths: ['/'] }, { labels: ['shop'], tags: undefined, paths: ['/'] }, 1],
    [{ tags: ['posts'] }, { labels: undefined, tags: ['posts'], paths: undefined }, 1],
    [{ host: 'nowhere.test' }, undefined, 0],
  ]
  for (const [body, stored, queued] of cases) {
    const { plane, json } = await call('/api/revalidate', { body })
    assert.deepEqual(json, { ok: true, queued })
    const pages = stored === undefined ? [] : [{ stored }]
    assert.deepEqual(plane.calls, [...pages, { render: stored === undefined ? [] : [page] }])
    assert.ok(plane.orders.length > 0 && plane.orders.every(({ mode }) => mode === 'stale'))
  }
})

test('a reload answers with its report, and a failed one with all errors', async () => {
  const { json } = await call('/api/reload')
  const changed = { added: 1, removed: 0, changed: 0 }
  assert.deepEqual(json, { ok: true, generation: 8, changed, needs_restart: ['server.workers'], took_ms: 5 })
  const plane = new FakePlane()
  plane.reloadReport = { ...plane.reloadReport, ok: false, errors: ['a.toml:1:2: x', 'a.toml:3:4: y'] }
  const { status, problem } = await call('/__svc/api/reload', { plane })
  assert.deepEqual([status, problem?.code], [422, 'reload_failed'])
  assert.deepEqual(
    problem?.errors?.map(({ message }) => message),
    ['a.toml:1:2: x', 'a.toml:3:4: y'],
  )
})

test('the configuration is shown, compared with its files, and checked', async () => {
  const shown = await call('/api/config', { method: 'GET' })
  const { overridden, ...rest } = shown.json
  assert.deepEqual(rest, { ok: true, generation: 7, config: { server: { workers: 2 }, admin: { jwt_secret: '***' } } })
  assert.equal((overridden as { key: string }[])[0]?.key, 'sites.shop.maintenance')
  const valid = await call('/api/config/validate', { body: { toml: 'good' } })
  assert.deepEqual(valid.json, { ok: true, sites: 2, notices: ['mind this'] })
  const plane = new FakePlane()
  const listed = await call('/__svc/admin/api/config/values?limit=2', { method: 'GET', plane })
  assert.deepEqual([listed.json['total'], listed.json['cursor']], [3, 2])
  const last = await call('/__svc/admin/api/config/values?limit=2&cursor=2', { method: 'GET', plane })
  assert.equal(last.json['cursor'], null)
  plane.instance.preview = async () => ({ ...preview, errors: ['a.toml:1:2: x'] })
  const broken = await call('/__svc/admin/api/config/diff', { method: 'GET', plane })
  assert.deepEqual([broken.status, broken.problem?.code], [422, 'invalid_config'])
  assert.deepEqual(broken.problem?.errors, [{ path: '', message: 'a.toml:1:2: x' }])
  const { status, problem } = await call('/__svc/api/config/validate', { body: { toml: 'bad' } })
  assert.deepEqual([status, problem?.code], [422, 'invalid_config'])
  assert.deepEqual(problem?.errors, [{ path: 'server.listen', message: 'line 1, column 2: is no address' }])
})

test('sites are listed, and one is shown with routes, isolates and its share of the caches', async () => {
  const { json } = await call('/api/sites', { method: 'GET' })
  const [shop, blog] = json['sites'] as Record<string, unknown>[]
  const facts = { id: 'shop', label: 'shop', hostnames: ['shop.test', 'www.shop.test'], root: '/srv/shop' }
  assert.deepEqual(shop, { ...facts, process: 'shared', tenant: 'acme', state: 'ok', generation: 7 })
  assert.deepEqual([blog?.['id'], blog?.['state'], blog?.['tenant']], ['blog', 'starting', null])
  const one = await call('/__svc/api/sites/shop', { method: 'GET' })
  const { routes, isolates, cache, ...rest } = one.json
  assert.deepEqual(rest, { ok: true, ...shop, problems: [] })
  assert.deepEqual(routes, [{ pattern: '/', kind: 'page', file: '/srv/shop/app/page.tsx' }])
  assert.equal((isolates as unknown[]).length, 1)
  assert.deepEqual(cache, { isr: { entries: 4, bytes: 10 }, proxy: { entries: 0, bytes: 0 } })
  const unreadable = await call('/api/sites/blog', { method: 'GET' })
  assert.deepEqual([unreadable.status, unreadable.json['routes']], [200, null])
  assert.equal((await call('/api/sites/gone', { method: 'GET' })).problem?.code, 'unknown_site')
})

test('the status names processes, pools and the last reload, and no site', async () => {
  const { json } = await call('/api/status', { method: 'GET' })
  assert.deepEqual([json['version'], json['generation'], json['last_reload'], json['sites']], ['1.2.3', 7, null, undefined])
  assert.equal((json['pools'] as unknown[]).length, 1)
})
