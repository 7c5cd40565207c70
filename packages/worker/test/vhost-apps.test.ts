import assert from 'node:assert/strict'
import { test } from 'node:test'
import { vhostSummaries } from '../src/control/master-control-plane.ts'
import { WorkerError } from '../src/errors/errors.ts'
import type { LocationHandler } from '../src/vhost/index.ts'
import { complete } from './canned-renderer.ts'
import { PipelineServer } from './pipeline-server.ts'
import { VhostServer } from './vhost-server.ts'

const files = {
  'shop/app/page.tsx': '',
  'shop/app/items/[id]/page.tsx': '',
  'shop/app/api/route.ts': '',
  'shop/app/oops/page.tsx': '',
  'shop/app/sub/page.tsx': '',
  'shop/app/proxied/[x]/page.tsx': '',
  'www/a.txt': 'text a',
  'www/health': 'a file',
}

const conf = `
server { listen {on0}; server_name a.test; root {dir}/www; client_max_body_size 10; svc_app {dir}/shop;
  location / { add_header X-Where "$uri"; add_header X-Always 1 always; }
  location /rewritten/ { rewrite ^/rewritten/(.*)$ /items/$1?from=$1 last; }
  location /sub { expires 1h; gzip off; error_page 503 /oops; }
  location /files/ { alias {dir}/www/; error_page 404 /oops; error_page 405 = /oops; }
  location /proxied/ { error_page 502 = @app; proxy_pass http://127.0.0.1:1; }
  location @app { svc_app {dir}/shop; }
  location /large/ { client_max_body_size 100; rewrite ^ /api break; }
}
server { listen {on0}; server_name plain.test; root {dir}/www;
  location / { return 200 "everything"; }
  location = /metrics { return 200 "own metrics"; }
}
server { listen {on0}; server_name file.test; root {dir}/www; }
`

/** Renders that say what was rendered. */
async function start(t: Parameters<typeof VhostServer.start>[0]): Promise<VhostServer> {
  const server = await VhostServer.start(t, conf, files)
  server.pipeline.renderer.answer = ({ request, sink }) => {
    const { pathname, search } = new URL(request.url)
    const text = `${request.method} ${request.route} ${pathname}${search}`
    sink.complete(complete(request.kind === 'not-found' ? 404 : 200), Buffer.from(text))
  }
  return server
}

test('an application answers where a vhost file says so, with the fields of its location', async (t) => {
  const server = await start(t)
  const { status, text, headers } = await server.get('/items/7?x=1')
  assert.deepEqual([status, text], [200, 'GET page:/items/[id] /items/7?x=1'])
  assert.equal(headers['x-where'], '/items/7')
  const missing = await server.get('/nothing')
  assert.deepEqual([missing.status, missing.headers['x-where'], missing.headers['x-always']], [404, undefined, '1'])
  const fresh = await server.get('/sub', { headers: { 'accept-encoding': 'br' } })
  assert.deepEqual([fresh.headers['cache-control'], fresh.headers['content-encoding']], ['max-age=3600', undefined])
})

test('an application sees the path that rewriting has led to', async (t) => {
  const server = await start(t)
  const { text } = await server.get('/rewritten/a%20b?y=2')
  assert.equal(text, 'GET page:/items/[id] /items/a%20b?from=a%20b&y=2')
})

test('an application shows errors of files, asked with GET', async (t) => {
  const server = await start(t)
  const missing = await server.get('/files/none')
  assert.deepEqual([missing.status, missing.text], [404, 'GET page:/oops /oops'])
  const refused = await server.get('/files/a.txt', { method: 'PUT', body: 'x' })
  assert.deepEqual([refused.status, refused.text], [200, 'GET page:/oops /oops'])
})

test('an application answers after an upstream has failed, however late', async (t) => {
  const server = await start(t)
  const late: LocationHandler = { handle: (visit) => void setImmediate(() => visit.fail(502)) }
  server.pipeline.handlers = { make: () => late }
  const { status, text } = await server.get('/proxied/3')
  assert.deepEqual([status, text], [200, 'GET page:/proxied/[x] /proxied/3'])
})

test('a render that fails is shown by the page of its error, and by our own without one', async (t) => {
  const server = await start(t)
  const { renderer } = server.pipeline
  const answer = renderer.answer
  renderer.answer = (render) => {
    if (render.request.route === 'page:/sub') render.sink.fail(new WorkerError('WORKER_NO_HOST', 'no host'))
    else if (render.request.route === 'page:/') render.sink.fail(new Error('twice'))
    else answer(render)
  }
  const shown = await server.get('/sub')
  assert.deepEqual([shown.status, shown.text], [503, 'GET page:/oops /oops'])
  assert.equal(PipelineServer.codeOf(await server.get('/')), 'internal_error')
  const { failures } = server.pipeline
  assert.deepEqual(
    failures.map(({ message }) => message),
    ['no host', 'twice'],
  )
})

test('an exception of a handler, at once or later, is an internal error', async (t) => {
  const server = await start(t)
  const faults: LocationHandler[] = [
    { handle: () => assert.fail('thrown') },
    { handle: () => Promise.reject(new Error('rejected')) },
  ]
  for (const fault of faults) {
    server.pipeline.handlers = { make: () => fault }
    await server.reload(`${conf}\n# ${faults.indexOf(fault)}`)
    assert.equal((await server.get('/proxied/x')).status, 500)
  }
})

test('bodies are limited as the location says, and elsewhere as the configuration does', async (t) => {
  const server = await start(t)
  const post = (url: string, body: string | Uint8Array[], host = 'a.test') => server.get(url, { method: 'POST', body, host })
  assert.equal((await post('/api', 'x'.repeat(11))).status, 413)
  assert.equal((await post('/api', 'x'.repeat(10))).status, 200)
  assert.equal((await post('/large/x', 'x'.repeat(100))).status, 200)
  assert.equal((await post('/large/x', 'x'.repeat(101))).status, 413)
})

test('a server claims shared paths by a location that runs something or by a file', async (t) => {
  const server = await start(t)
  const ask = async (url: string, host: string) => (await server.get(url, { host })).text
  assert.equal(await ask('/metrics', 'plain.test'), 'own metrics')
  assert.equal(await ask('/health', 'plain.test'), 'everything')
  assert.equal(await ask('/metrics', 'file.test'), 'all_metrics 1\n')
  assert.equal(await ask('/health', 'file.test'), 'a file')
  assert.deepEqual(JSON.parse(await ask('/health', 'a.test')), { status: 'ok' }, 'the application has no such route')
  assert.equal(JSON.parse(await ask('/__svc/health', 'file.test')).status, 'healthy')
})

test('the servers of vhost files can be listed with their locations', async (t) => {
  const { pipeline } = await VhostServer.start(
    t,
    'server { listen {on0} default_server; svc_site s; server_name s.test *.s.test; location ^~ /x/ { proxy_pass http://127.0.0.1:1; } }',
  )
  const [server, ...others] = vhostSummaries(pipeline.generation.spec.web)
  assert.deepEqual(others, [])
  assert.ok(server)
  assert.deepEqual(
    { ...server, place: '', locations: server.locations.map((location) => ({ ...location, place: '' })) },
    {
      site: 's',
      place: '',
      listen: ['127.0.0.1:8080'],
      default_for: ['127.0.0.1:8080'],
      names: ['s.test', '*.s.test'],
      locations: [
        { match: '^~ /x/', place: '', content: 'proxy', target: '127.0.0.1:1' },
        { match: '', place: '', content: 'files', target: '' },
      ],
    },
  )
})
