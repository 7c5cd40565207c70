import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PurgeOrder } from '../src/index.ts'
import { callEndpoint as call } from './call-endpoint.ts'
import { cacheReport, isolate, vhost } from './fake-plane.ts'

const drop = (layer: 'l0' | 'isr' | 'proxy', scopes: PurgeOrder['scopes']): PurgeOrder[] => [
  { layers: [layer], scopes, mode: 'drop' },
]

test('an L0 purge is about everything, a host, or paths of a host, of the site that was asked, or of every host', async () => {
  const cases: [body: Record<string, unknown>, host: string, scopes: PurgeOrder['scopes']][] = [
    [{}, 'shop.test', [{ kind: 'everything' }]],
    [{ host: 'a.test' }, 'shop.test', [{ kind: 'hosts', hosts: ['a.test'] }]],
    [{ paths: ['/x'] }, 'shop.test:8080', [{ kind: 'paths', paths: ['/x'], hosts: ['shop.test', 'www.shop.test'] }]],
    [{ paths: ['/x'] }, '127.0.0.1:8080', [{ kind: 'paths', paths: ['/x'], hosts: null }]],
    [{ paths: ['/x'], host: 'a.test' }, 'shop.test', [{ kind: 'paths', paths: ['/x'], hosts: ['a.test'] }]],
    [{ paths: [] }, 'localhost', [{ kind: 'paths', paths: [], hosts: null }]],
  ]
  for (const [body, host, scopes] of cases) {
    const { plane, json } = await call('/__svc/cache/purge-l0', { body, host })
    assert.deepEqual(plane.orders, drop('l0', scopes))
    assert.deepEqual(json, {
      ok: true,
      layer: 'l0',
      purged: 3,
      also: { l0: 0, isr: 2, l2: 0, proxy: 0 },
      scope: body,
      workers: { acked: 2, total: 2 },
      instances: { acked: 1, known: 1 },
      took_ms: 1.23,
    })
  }
})

test('a tenant_admin names the host of an L0 purge, but in the API of the panel', async () => {
  const user = { username: 'tom', role: 'tenant_admin', tenantId: 'acme' } as const
  const caller = { kind: 'user', user, jti: 'j', expiresAt: 0, by: 'bearer' } as const
  for (const body of [{}, { paths: ['/x'] }, { paths: [] }]) {
    const { problem, plane } = await call('/__svc/cache/purge-l0', { body, caller, host: 'shop.test' })
    assert.deepEqual([problem?.status, problem?.code, plane.orders], [403, 'not_for_tenants', []])
    assert.equal((await call('/__svc/admin/api/cache/purge-l0', { body, caller })).status, 200)
  }
  assert.equal((await call('/__svc/cache/purge-l0', { body: { host: 'shop.test' }, caller })).status, 200)
})

test('a proxy purge is about a host, or paths and prefixes of it', async () => {
  const hosts = ['a.test']
  const whole = await call('/__svc/cache/purge-proxy', { body: { host: 'a.test' } })
  assert.deepEqual(whole.plane.orders, drop('proxy', [{ kind: 'hosts', hosts }]))
  assert.deepEqual([whole.json['purged'], whole.json['also']], [0, { l0: 3, isr: 2, l2: 0, proxy: 0 }])
  const parts = await call('/__svc/cache/purge-proxy', { body: { host: 'a.test', paths: ['/x'], prefixes: ['/y/'] } })
  const scopes: PurgeOrder['scopes'] = [
    { kind: 'paths', paths: ['/x'], hosts },
    { kind: 'prefixes', prefixes: ['/y/'], hosts },
  ]
  assert.deepEqual(parts.plane.orders, drop('proxy', scopes))
  const none = await call('/__svc/cache/purge-proxy', { body: { host: 'a.test', paths: [] } })
  assert.deepEqual(none.plane.orders[0]?.scopes, [
    { kind: 'paths', paths: [], hosts },
    { kind: 'prefixes', prefixes: [], hosts },
  ])
})

test('a purge by tag or pattern takes exactly one of them', async () => {
  for (const target of ['/__svc/admin/api/cache/purge', '/__svc/admin/api/cache/purge?tag=a&pattern=b']) {
    const { problem, plane } = await call(target)
    assert.deepEqual([problem?.status, problem?.code, plane.orders], [400, 'invalid_request', []])
  }
  const byTag = await call('/__svc/admin/api/cache/purge?tag=route%3Ashop%3Aposts')
  assert.deepEqual(byTag.plane.orders, drop('isr', [{ kind: 'tags', tags: ['route:shop:posts'] }]))
  assert.deepEqual([byTag.json['layer'], byTag.json['purged'], byTag.json['scope']], ['isr', 2, { tag: 'route:shop:posts' }])
  const byPattern = await call('/__svc/admin/api/cache/purge?pattern=*')
  assert.deepEqual(byPattern.plane.orders, drop('isr', [{ kind: 'pattern', pattern: '*', labels: null }]))
})

test('modules are forgotten by file, by directory, by both, or all; an empty list forgets none', async () => {
  const cases: [body: Record<string, unknown>, calls: unknown[], purged: number][] = [
    [{}, [{}], 4],
    [{ paths: ['/a.ts'] }, [{ paths: ['/a.ts'] }], 4],
    [{ site: '/srv' }, [{ dir: '/srv' }], 4],
    [{ paths: ['/a.ts'], site: '/srv' }, [{ dir: '/srv' }, { paths: ['/a.ts'] }], 8],
    [{ paths: [] }, [], 0],
  ]
  for (const [body, calls, purged] of cases) {
    const { plane, json } = await call('/__svc/cache/purge-modules', { body })
    assert.deepEqual([plane.calls, json['purged'], json['layer']], [calls, purged, 'modules'])
  }
})

test('an app is reset by its directory, and an unknown one is answered with those there are', async () => {
  const unknown = await call('/compat-cache/purge-app', { body: { app_root: '/srv/gone' } })
  assert.deepEqual([unknown.problem?.status, unknown.problem?.code], [404, 'unknown_app_root'])
  assert.match(unknown.problem?.detail ?? '', /\/srv\/shop, \/srv\/blog/)
  const { json } = await call('/compat-cache/purge-app', { body: { app_root: '/srv/shop/app' } })
  assert.deepEqual([json['purged'], json['also']], [5, { l0: 1, isr: 2, l2: 0, proxy: 0 }])
})

test('a flush by site renews isolates; by label those of all its sites, and empties their caches', async () => {
  const one = await call('/__svc/api/sites/shop/isolate/flush')
  assert.deepEqual([one.plane.calls, one.plane.orders, one.json['purged']], [[{ flush: 'shop' }], [], 2])
  const unknown = await call('/__svc/admin/api/isolate/flush?site_label=gone')
  assert.deepEqual([unknown.problem?.status, unknown.problem?.code], [404, 'unknown_label'])
  const label = await call('/__svc/admin/api/isolate/flush?site_label=blog')
  assert.deepEqual(label.plane.calls, [{ flush: 'blog' }, { flush: 'blog-old' }])
  assert.deepEqual(label.plane.orders, [
    { layers: ['l0', 'isr', 'proxy'], scopes: [{ kind: 'labels', labels: ['blog'] }], mode: 'drop' },
  ])
  assert.deepEqual([label.json['purged'], label.json['also']], [4, { l0: 3, isr: 2, l2: 0, proxy: 0 }])
})

test('a rolling restart is answered at once, at its end, or by its progress', async () => {
  const path = '/__svc/admin/api/workers/restart'
  const begun = await call(path)
  assert.deepEqual([begun.status, begun.json], [202, { ok: true, restart_id: 'r1', render_workers: 2 }])
  const ended = await call(`${path}?wait=1`)
  assert.equal(ended.status, 200)
  assert.deepEqual(ended.json, { ok: true, restart_id: 'r1', state: 'done', replaced: 2, total: 2, render_workers: 2 })
  const progress = await call(`${path}/r1`, { method: 'GET' })
  assert.deepEqual(progress.json, { ok: true, restart_id: 'r1', state: 'running', replaced: 1, total: 2 })
  const failed = await call(`${path}/bad`, { method: 'GET' })
  assert.deepEqual([failed.json['ok'], failed.json['error']], [false, 'no memory'])
  assert.equal((await call(`${path}/gone`, { method: 'GET' })).problem?.code, 'unknown_restart')
})

test('figures, isolates and routes are shown; a site that cannot be read hides no other', async () => {
  assert.deepEqual((await call('/__svc/cache/stats', { method: 'GET' })).json, { ok: true, ...cacheReport })
  const { json: isolates } = await call('/__svc/debug/isolates', { method: 'GET' })
  assert.deepEqual(isolates, {
    ok: true,
    isolates: [isolate, { ...isolate, site: 'blog' }],
    pools: [{ host: 'h1', pid: 1, site: 'shop', threads: 1, active: 0, queued: 0 }],
    missing: ['h2'],
  })
  const { json: modules } = await call('/__svc/debug/modules?site=shop', { method: 'GET' })
  const [first] = modules['isolates'] as { readonly modules: unknown }[]
  assert.deepEqual(first?.modules, [{ file: '/srv/shop/app/page.tsx', format: 'esm', imports: ['/srv/state.ts'] }])
  const { json } = await call('/__svc/debug/router', { method: 'GET' })
  assert.equal(json['generation'], 7)
  assert.deepEqual(json['vhosts'], [vhost])
  const sites = json['sites'] as { readonly id: string; readonly routes: unknown[] | null }[]
  assert.deepEqual(
    sites.map(({ id, routes }) => [id, routes?.length ?? null]),
    [
      ['shop', 1],
      ['blog', null],
      ['blog-old', 1],
    ],
  )
})
