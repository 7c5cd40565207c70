import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PipelineServer, shop } from './pipeline-server.ts'

test('the reserved space answers on every host, even if the site defines such paths', async (t) => {
  const files = { ...shop.files, 'public/__svc/health': 'mine', 'app/__svc/metrics/route.ts': '', 'app/[...all]/page.tsx': '' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  for (const host of ['shop.test', 'other.test', '127.0.0.1:80']) {
    const response = await server.get('/__svc/health', { host })
    assert.equal(response.status, 200)
    assert.equal(JSON.parse(response.text).status, 'healthy')
    assert.equal(response.headers['cache-control'], 'no-store')
    assert.equal((await server.get('/__svc/metrics', { host })).text, 'all_metrics 1\n')
  }
  assert.deepEqual(server.renderer.requests, [])
})

test('an unknown path of the reserved space lists what there is', async (t) => {
  const server = await PipelineServer.start(t)
  for (const path of ['/__svc/nothing', '/__svc/', '/__svc', '/a/../__svc/x', '/%5F_svc/x']) {
    const response = await server.get(path)
    assert.equal(response.status, 404, path)
    const { code, endpoints, request_id: id } = JSON.parse(response.text)
    assert.deepEqual([code, id], ['unknown_endpoint', response.headers['x-request-id']])
    assert.ok(id)
    const paths = endpoints.map((endpoint: { path: string }) => endpoint.path)
    for (const known of ['/health', '/__svc/health', '/metrics', '/__svc/metrics']) assert.ok(paths.includes(known), known)
  }
})

test('endpoints answer HEAD without a body and other methods with 405', async (t) => {
  const server = await PipelineServer.start(t)
  const get = await server.get('/__svc/metrics')
  const head = await server.get('/__svc/metrics', { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(head.text, '')
  assert.equal(head.headers['content-length'], get.headers['content-length'])
  const post = await server.get('/__svc/health', { method: 'POST', body: '{}' })
  assert.equal(post.status, 405)
  assert.equal(post.headers['allow'], 'GET, HEAD')
  assert.equal(PipelineServer.codeOf(post), 'method_not_allowed')
})

test('the shared paths are the site own when it has a static route or a file there, and no others', async (t) => {
  const site = (files: Record<string, string>) => [{ ...shop, files: { 'app/layout.tsx': '', ...files } }]
  const cases: [files: Record<string, string>, expected: RegExp][] = [
    [{ 'app/page.tsx': '' }, /^\{"status":"ok"\}/],
    [{ 'app/health/page.tsx': '' }, /^page page:\/health/],
    [{ 'app/health/route.ts': '' }, /^handler handler:\/health/],
    [{ 'public/health': 'a file' }, /^a file$/],
    [{ 'app/[slug]/page.tsx': '' }, /^\{"status":"ok"\}/],
    [{ 'app/[...all]/page.tsx': '' }, /^\{"status":"ok"\}/],
    [{ 'app/(ops)/health/page.tsx': '' }, /^page page:\/health/],
  ]
  for (const [files, expected] of cases) {
    const server = await PipelineServer.start(t, site(files))
    assert.match((await server.get('/health')).text, expected, Object.keys(files).join())
  }
})

test('the shared paths with a method that is not the service’s belong to the site', async (t) => {
  const own = await PipelineServer.start(t, [{ ...shop, files: { 'app/page.tsx': '', 'app/health/route.ts': '' } }])
  assert.match((await own.get('/health', { method: 'POST', body: '{}' })).text, /^handler handler:\/health/)
  const dynamic = await PipelineServer.start(t, [{ ...shop, files: { 'app/[slug]/route.ts': '' } }])
  assert.match((await dynamic.get('/metrics', { method: 'DELETE' })).text, /^handler handler:\/\[slug\]/)
  const none = await PipelineServer.start(t)
  assert.match((await none.get('/health', { method: 'POST', body: '{}' })).text, /^not-found/)
})

test('only the addressed site counts for the shared paths', async (t) => {
  const other = { id: 'other', hostnames: ['other.test'], files: { 'app/page.tsx': '', 'public/metrics': 'mine' } }
  const server = await PipelineServer.start(t, [shop, other])
  assert.equal((await server.get('/metrics', { host: 'other.test' })).text, 'mine')
  assert.equal((await server.get('/metrics')).text, 'all_metrics 1\n')
})

test('a probe is answered when the routes of the site cannot be had', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.beforeDescribe = () => Promise.reject(new Error('no host'))
  assert.equal((await server.get('/health')).status, 200)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  server.renderer.beforeDescribe = () => new Promise(() => undefined)
  const pending = server.get('/health')
  t.mock.timers.tick(1000)
  assert.equal((await pending).status, 200)
})

test('health says 503 when degraded, and liveness while draining', async (t) => {
  const server = await PipelineServer.start(t)
  server.health = async () => ({ status: 'degraded', uptime_secs: 1, checks: { render_pool: 'degraded: all gone' } })
  assert.equal((await server.get('/__svc/health')).status, 503)
  assert.equal((await server.get('/health')).status, 200)
  server.isDraining = true
  const response = await server.get('/health')
  assert.equal(response.status, 503)
  assert.equal(JSON.parse(response.text).status, 'draining')
})

test('a master that cannot be asked makes an endpoint fail without its reason', async (t) => {
  const server = await PipelineServer.start(t)
  server.health = () => Promise.reject(new Error('secret reason'))
  const response = await server.get('/__svc/health')
  assert.equal(response.status, 500)
  assert.doesNotMatch(response.text, /secret/)
  assert.deepEqual(server.failures, [{ requestId: 'id-1', message: 'secret reason', status: 500 }])
})

test('groups that are switched off leave their paths', async (t) => {
  const files = { ...shop.files, 'app/[...all]/page.tsx': '' }
  const server = await PipelineServer.start(t, [{ ...shop, files }], '[endpoints]\nmetrics = false\nhealth = false\n')
  assert.match((await server.get('/metrics')).text, /^page page:\/\[\.\.\.all\]/)
  assert.equal((await server.get('/__svc/metrics')).status, 404)
})

test('probes are neither logged nor counted', async (t) => {
  const server = await PipelineServer.start(t)
  for (const path of ['/health', '/metrics', '/__svc/health', '/__svc/metrics', '/__svc/none']) await server.get(path)
  assert.deepEqual(
    (await server.accessLog()).map(({ path }) => path),
    ['/__svc/none'],
  )
  assert.deepEqual(await server.metric('http_requests_total'), { 'GET 404 builtin': 1 })
})
