import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PipelineServer, shop } from './pipeline-server.ts'

const page = { 'app/page.tsx': '', 'app/layout.tsx': '' }

test('a site is found by its exact name, its suffix, with port, trailing dot and in any case', async (t) => {
  const server = await PipelineServer.start(t, [
    { id: 'first', hostnames: ['first.test'], files: page },
    { id: 'wild', hostnames: ['*.wild.test'], files: page },
    { id: 'exact', hostnames: ['exact.wild.test'], files: page },
  ])
  const cases: [host: string, site: string][] = [
    ['first.test', 'first'],
    ['first.test:8080', 'first'],
    ['FIRST.Test', 'first'],
    ['first.test.', 'first'],
    ['first.test.:80', 'first'],
    ['a.wild.test', 'wild'],
    ['a.b.wild.test:1', 'wild'],
    ['exact.wild.test', 'exact'],
    ['wild.test', 'first'],
    ['notwild.test', 'first'],
    ['127.0.0.1', 'first'],
    ['[::1]:80', 'first'],
  ]
  for (const [host, site] of cases) {
    await server.get('/', { host })
    assert.equal(server.renderer.requests.at(-1)?.site, site, host)
  }
})

test('without any site the answer is 404, and an endpoint still answers', async (t) => {
  const server = await PipelineServer.start(t, [])
  const response = await server.get('/')
  assert.equal(response.status, 404)
  assert.equal(PipelineServer.codeOf(response), 'no_site')
  assert.equal((await server.get('/health')).status, 200)
})

test('a render gets the route with its parameters, the URL, the host and the client', async (t) => {
  const server = await PipelineServer.start(t)
  const response = await server.get('/items/a%20b?q=1', { host: 'shop.test:81', remoteAddress: '10.1.2.3' })
  assert.equal(response.status, 200)
  assert.equal(response.headers['cache-control'], 'private, no-cache, no-store, max-age=0, must-revalidate')
  const [request] = server.renderer.requests
  assert.equal(request?.kind, 'page')
  assert.equal(request.route, 'page:/items/[id]')
  assert.deepEqual(request.params, { id: 'a b' })
  assert.equal(request.url, 'http://shop.test:81/items/a%20b?q=1')
  assert.equal(request.remoteAddress, '10.1.2.3')
  const forwarded = ['x-forwarded-proto', 'http']
  assert.deepEqual(request.headers, [['host', 'shop.test:81'], forwarded])
})

test('a slash at the end is redirected away with the query, where there is a route', async (t) => {
  const server = await PipelineServer.start(t)
  const response = await server.get('/items/7/?a=1&b=%2F')
  assert.equal(response.status, 308)
  assert.equal(response.headers['location'], '/items/7?a=1&b=%2F')
  assert.equal((await server.get('/items/7/')).headers['location'], '/items/7')
  assert.equal((await server.get('//evil.test/..//items/7/')).headers['location'], '/items/7')
  assert.match((await server.get('/nowhere/')).text, /^not-found /)
})

test('pages answer GET and HEAD only, handlers every method', async (t) => {
  const server = await PipelineServer.start(t)
  const post = await server.get('/items/1', { method: 'POST', body: 'a=1' })
  assert.equal(post.status, 405)
  assert.equal(post.headers['allow'], 'GET, HEAD')
  assert.equal(PipelineServer.codeOf(post), 'method_not_allowed')
  assert.equal(server.renderer.requests.length, 0)
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PURGE']) {
    assert.equal((await server.get('/api', { method })).status, 200, method)
    assert.equal(server.renderer.requests.at(-1)?.method, method)
  }
})

test('HEAD has the fields of GET and no body', async (t) => {
  const server = await PipelineServer.start(t)
  const get = await server.get('/')
  const head = await server.get('/', { method: 'HEAD' })
  assert.deepEqual(head.headers, get.headers)
  assert.equal(head.text, '')
  assert.equal(server.renderer.requests.at(-1)?.method, 'HEAD')
})

test('a path without route gets the not-found page of the site, or a problem without an app', async (t) => {
  const plain = { id: 'plain', hostnames: ['plain.test'], files: { 'public/a.txt': 'a' } }
  const server = await PipelineServer.start(t, [shop, plain])
  assert.match((await server.get('/nowhere', { method: 'POST', body: 'x' })).text, /^not-found /)
  const response = await server.get('/nowhere', { host: 'plain.test' })
  assert.equal(response.status, 404)
  assert.equal(PipelineServer.codeOf(response), 'not_found')
  assert.equal(response.headers['x-request-id'], JSON.parse(response.text).request_id)
  const forBrowser = await server.get('/nowhere', { host: 'plain.test', headers: { accept: 'text/html,*/*;q=0.8' } })
  assert.equal(forBrowser.headers['content-type'], 'text/html; charset=utf-8')
})

test('a route that two files claim is an error that says no more in production', async (t) => {
  const files = { ...page, 'app/(a)/x/page.tsx': '', 'app/(b)/x/page.tsx': '' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  const response = await server.get('/x')
  assert.equal(response.status, 500)
  assert.equal(PipelineServer.codeOf(response), 'route_conflict')
  assert.doesNotMatch(response.text, /page\.tsx/)
  assert.match((await server.get('/')).text, /^page page:\/ /)
})

test('metadata files are sent as they are, metadata modules are rendered', async (t) => {
  const files = { ...page, 'app/robots.txt': 'User-agent: *\n', 'app/sitemap.ts': '', 'app/items/icon.svg': '<svg/>' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  const robots = await server.get('/robots.txt')
  assert.equal(robots.text, 'User-agent: *\n')
  assert.match(robots.headers['content-type'] ?? '', /^text\/plain/)
  assert.equal((await server.get('/items/icon.svg')).headers['content-type'], 'image/svg+xml')
  assert.equal(server.renderer.requests.length, 0)
  assert.match((await server.get('/sitemap.xml')).text, /^metadata metadata:\/sitemap\.xml/)
})

test('a file goes before a route of the same path, and its fault is not a render', async (t) => {
  const files = { ...page, 'app/a.txt/page.tsx': '', 'public/a.txt': 'the file', 'public/b/c.css': 'b{}' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  assert.equal((await server.get('/a.txt')).text, 'the file')
  assert.equal((await server.get('/b/c.css', { headers: { range: 'bytes=0-0' } })).status, 206)
  assert.equal(server.renderer.requests.length, 0)
  assert.match((await server.get('/b')).text, /^not-found /)
  assert.match((await server.get('/..%2Fapp/page.tsx')).text, /^not-found /)
})

test('the manifest is fetched once, and again after the site has changed', async (t) => {
  const server = await PipelineServer.start(t)
  await Promise.all([server.get('/'), server.get('/'), server.get('/items/1')])
  await server.get('/')
  assert.equal(server.renderer.describes, 1)
  server.generation.sites.get('shop')?.forget()
  await server.get('/')
  assert.equal(server.renderer.describes, 2)
})

test('a request keeps the generation that it began with', async (t) => {
  const server = await PipelineServer.start(t)
  const held: (() => void)[] = []
  server.renderer.beforeDescribe = () => new Promise((resolve) => held.push(resolve))
  const before = server.get('/')
  server.renderer.beforeDescribe = async () => undefined
  await server.reload([{ ...shop, id: 'successor' }])
  await server.get('/')
  for (const release of held) release()
  await before
  assert.deepEqual(
    server.renderer.requests.map(({ site }) => site),
    ['successor', 'shop'],
  )
})

test('a site whose configuration is unchanged keeps its routes over a reload', async (t) => {
  const server = await PipelineServer.start(t)
  await server.get('/')
  await server.reload([shop, { id: 'more', hostnames: ['more.test'], files: page }])
  await server.get('/')
  assert.equal(server.renderer.describes, 1)
  await server.reload([{ ...shop, hostnames: ['shop.test', 'www.shop.test'] }])
  await server.get('/')
  assert.equal(server.renderer.describes, 2)
})
