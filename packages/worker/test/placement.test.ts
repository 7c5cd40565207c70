import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { complete } from './canned-renderer.ts'
import { PipelineServer, shop } from './pipeline-server.ts'
import { VhostServer } from './vhost-server.ts'

const OURS = { '/health': '{"status":"ok"}\n', '/metrics': 'all_metrics 1\n' }
const files = {
  'www/index.html': 'index',
  'www/ok.txt': 'ok',
  'www/404.html': 'none',
  'with/index.html': 'index',
  'with/health': 'file',
  'with/metrics.html': 'file',
  'dir/metrics/index.html': 'file',
  'shop/app/page.tsx': '',
  'shop/app/[...all]/page.tsx': '',
  'own/app/health/route.ts': '',
  'own/app/[slug]/page.tsx': '',
}

/** A server of a.test whose upstreams say what they were asked. */
async function start(t: TestContext, body: string): Promise<VhostServer> {
  const server = await VhostServer.start(t, 'server { listen {on0}; server_name a.test; }', files)
  server.pipeline.handlers = {
    make: (content) => ({
      handle: (visit) =>
        visit.context.respondCompressed(
          { status: 200, headers: [] },
          Buffer.from(`${content.kind} ${visit.method} ${visit.uri}`),
        ),
    }),
  }
  server.pipeline.renderer.answer = ({ request, sink }) => sink.complete(complete(200), Buffer.from(`${request.route}`))
  await server.reload(`upstream up { server 127.0.0.1:1; } map $http_x $where { default up; }
    server { listen {on0}; server_name a.test; root {dir}/www; ${body} }`)
  return server
}

async function isOurs(server: VhostServer, path: keyof typeof OURS): Promise<boolean> {
  const get = await server.get(path)
  const head = await server.get(path, { method: 'HEAD' })
  assert.equal(head.status, get.status, `HEAD ${path}`)
  return get.text === OURS[path]
}

const proxy = 'proxy_pass http://up;'
const sites: readonly string[] = [
  `location / { ${proxy} }`,
  `location / { proxy_pass http://$where; }`,
  'location / { fastcgi_pass 127.0.0.1:1; }',
  `location ~ ^/(health|metrics)$ { ${proxy} }`,
  `location ^~ /health { ${proxy} } location ^~ /metrics { ${proxy} }`,
  `location /health/ { ${proxy} } location /metrics/ { ${proxy} }`,
  'location / { return 200 mine; }',
  'location / { return 404; }',
  'return 301 https://a.test$request_uri;',
  'rewrite ^ https://b.test/ permanent;',
  'location / { rewrite ^(.*)$ /x$1 redirect; }',
  'location / { svc_app {dir}/shop; }',
  `location / { try_files $uri $uri/ @app; } location @app { ${proxy} }`,
  'location / { try_files $uri /index.php?$args; } location ~ \\.php$ { fastcgi_pass 127.0.0.1:1; }',
  `location / { try_files $uri /app$uri; } location /app/ { ${proxy} }`,
  'location / { rewrite ^(.*)$ /index.php?p=$1 last; } location ~ \\.php$ { fastcgi_pass 127.0.0.1:1; }',
  `rewrite ^/(.*)$ /app/$1; location /app/ { ${proxy} }`,
  `location / { error_page 404 = @app; } location @app { ${proxy} }`,
  'location / { try_files $uri =404; error_page 404 /index.php; } location ~ \\.php$ { fastcgi_pass 127.0.0.1:1; }',
  `try_files $uri @app; location @app { ${proxy} }`,
  'location = /health { root {dir}/none; } location = /metrics { deny all; }',
  'location /health { root {dir}/none; } location /metrics { root {dir}/none; }',
  'location ~ ^/(health|metrics) { deny all; }',
  'location ~ ^/(health|metrics) { internal; }',
  'location / { root {dir}/with; try_files $uri $uri.html =404; }',
  'location / { root {dir}/dir; } location = /health { }',
]

test('a server whose locations proxy or run something for /health and /metrics has them for itself', async (t) => {
  for (const body of sites) {
    const server = await start(t, body)
    assert.equal(await isOurs(server, '/health'), false, body)
    assert.equal(await isOurs(server, '/metrics'), false, body)
    assert.equal((await server.get('/__svc/metrics')).text, OURS['/metrics'], body)
  }
})

const catchAlls: readonly string[] = [
  '',
  'location / { }',
  'location / { try_files $uri $uri/ =404; error_page 404 /404.html; } location = /404.html { internal; }',
  'location / { try_files $uri /index.html; } location = /index.html { add_header Cache-Control no-cache; }',
  'location / { rewrite ^ /index.html break; }',
  `location / { } location /app/ { ${proxy} } location ~ \\.php$ { fastcgi_pass 127.0.0.1:1; } location @other { ${proxy} }`,
  'location / { error_page 404 https://b.test/; } error_page 500 @app; location @app { proxy_pass http://up; }',
  'error_page 404 /loop; location = /loop { try_files /none /loop; }',
  'rewrite ^/old /new last; location / { rewrite ^/new /newer last; }',
  'location / { deny all; }',
  'svc_app {dir}/shop;',
  'svc_app {dir}/shop; location / { add_header A b; }',
]

test('a catch-all that serves files or the pages of the site leaves /health and /metrics to the service', async (t) => {
  for (const body of catchAlls) {
    const server = await start(t, body)
    assert.equal(await isOurs(server, '/health'), true, body)
    assert.equal(await isOurs(server, '/metrics'), true, body)
  }
})

test('other methods and other paths go where they always go', async (t) => {
  const server = await start(t, `location / { ${proxy} }`)
  assert.equal((await server.get('/health', { method: 'POST', body: '{}' })).text, 'proxy POST /health')
  assert.equal((await server.get('/health/x')).text, 'proxy GET /health/x')
  assert.equal((await server.get('/%68ealth')).text, 'proxy GET /health')
  const asleep = await start(t, 'location / { }')
  assert.equal((await asleep.get('/health', { method: 'DELETE' })).status, 405)
  assert.equal((await asleep.get('/%68ealth')).text, OURS['/health'])
})

test('an upgrade to another protocol at these paths is the proxied application’s', async (t) => {
  const server = await start(t, `location / { ${proxy} }`)
  const headers = { connection: 'upgrade', upgrade: 'websocket' }
  assert.equal((await server.get('/metrics', { headers })).text, 'proxy GET /metrics')
})

test('an application of the server has its static routes, and not those of one that a location names', async (t) => {
  const server = await start(t, 'svc_app {dir}/own; location /sub/ { svc_app {dir}/shop; }')
  assert.equal((await server.get('/health')).text, 'handler:/health')
  assert.equal((await server.get('/metrics')).text, OURS['/metrics'])
})

test('L0 answers a path that the server defines for as long as it does, and never keeps an endpoint', async (t) => {
  const server = await start(t, 'location / { return 200 mine; }')
  for (const _ of [1, 2]) assert.equal((await server.get('/health')).text, 'mine')
  assert.equal(await server.l0('/health'), 'hit')
  await server.reload('server { listen {on0}; server_name a.test; root {dir}/www; location / { } }')
  for (const _ of [1, 2, 3]) assert.equal((await server.get('/health')).text, OURS['/health'])
  assert.equal(await server.l0('/health'), 'other')
})

const rule = (lines: string) => `[[route_rules]]\n${lines}\n`

test('a route rule that answers, sends on or moves one of these paths makes it the site’s', async (t) => {
  const cases: readonly [rule: string, status: number, text: RegExp][] = [
    ['pattern = "/health"\nredirect = "/items/1"', 308, /^$/],
    ['pattern = "/**"\nredirect = "https://other.test/**"', 308, /^$/],
    ['pattern = "/health"\naction = "block"', 403, /forbidden/],
    ['pattern = "/*"\nupstream = "http://127.0.0.1:1"', 200, /^proxy GET/],
    ['pattern = "/health"\nrewrite = "/items/1"', 200, /items/],
    ['pattern = "/h*"\nrewrite = "/api"', 200, /handler:\/api/],
    ['pattern = "/health"\nhost = "shop.test"\nredirect = "/items/1"', 308, /^$/],
  ]
  for (const [lines, status, text] of cases) {
    const server = await PipelineServer.start(t, [shop])
    server.handlers = {
      make: (content) => ({
        handle: (visit) =>
          visit.context.respondCompressed({ status: 200, headers: [] }, Buffer.from(`${content.kind} ${visit.method}`)),
      }),
    }
    await server.reload([shop], rule(lines))
    const response = await server.get('/health')
    assert.equal(response.status, status, lines)
    if (status !== 308) assert.match(response.text, text, lines)
  }
})

test('a route rule that only sets fields, is for another host or method, or moves all paths claims none of them', async (t) => {
  const rules = [
    'pattern = "/health"\nheaders = { "x-a" = "b" }',
    'pattern = "/health"\nhost = "other.test"\nredirect = "/x"',
    'pattern = "/health"\nmethods = ["POST"]\nredirect = "/x"',
    'pattern = "/**"\nrewrite = "/items/**"',
  ]
  for (const lines of rules) {
    const server = await PipelineServer.start(t, [shop], rule(lines))
    assert.equal((await server.get('/health')).text, OURS['/health'], lines)
  }
})
