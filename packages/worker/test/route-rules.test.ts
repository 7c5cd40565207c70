import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeFiles } from '@svc/testkit'
import { PipelineServer, shop } from './pipeline-server.ts'

const rule = (lines: string) => `[[route_rules]]\n${lines}\n`
const start = (t: TestContext, rules: string) => PipelineServer.start(t, [shop], rules)

test('a redirect says where, keeps the query, and has the fields of rules', async (t) => {
  const server = await start(
    t,
    rule('pattern = "/**"\nheaders = { "x-frame-options" = "DENY", "x-twice" = "first" }') +
      rule('pattern = "/old/:page"\nredirect = "/items/:page"\nheaders = { "x-twice" = "second" }') +
      rule('pattern = "/old/**"\nredirect = "https://other.test/**"\nredirect_status = 302'),
  )
  const first = await server.get('/old/7?a=b')
  assert.deepEqual(
    [first.status, first.headers['location'], first.headers['x-frame-options'], first.headers['x-twice']],
    [308, '/items/7?a=b', 'DENY', 'second'],
  )
  const second = await server.get('/old/a/b')
  assert.deepEqual(
    [second.status, second.headers['location'], second.headers['x-twice']],
    [302, 'https://other.test/a/b', 'first'],
  )
  assert.equal(server.renderer.requests.length, 0)
})

test('a redirect never leads to a host that its request names', async (t) => {
  const server = await start(t, rule('pattern = "/go/**"\nredirect = "/**"') + rule('pattern = "/x*/:a"\nredirect = "/*/:a"'))
  for (const path of ['/go//evil.test', '/go/%2Fevil.test', '/go/%5C%5Cevil.test', '/go/%2f%2fevil.test', '/x/evil.test']) {
    const { status, headers } = await server.get(path)
    assert.equal(status, 308)
    assert.match(String(headers['location']), /^\/[^/\\]/, path)
  }
})

test('a rewrite goes on to the page, keeps the query, and meets no further rule', async (t) => {
  const server = await start(
    t,
    rule('pattern = "/goods/:id"\nrewrite = "/items/:id"') + rule('pattern = "/items/**"\naction = "block"'),
  )
  assert.equal((await server.get('/goods/7?a=b')).status, 200)
  const [render] = server.renderer.requests
  assert.deepEqual([render?.route, render?.params], ['page:/items/[id]', { id: '7' }])
  assert.equal((await server.get('/items/7')).status, 403)
})

test('a blocked path is blocked in every spelling', async (t) => {
  const server = await start(t, rule('pattern = "/items/**"\naction = "block"'))
  for (const path of ['/items/7', '/items', '//items/7', '/%69tems/7', '/x/../items/7', '/items%2F7', '/x%2F..%2Fitems/7']) {
    const response = await server.get(path)
    assert.deepEqual([response.status, PipelineServer.codeOf(response)], [403, 'forbidden'], path)
  }
  assert.equal((await server.get('/item')).status, 200)
  assert.equal(server.failures.length, 0)
})

test('the first rule wins, those of the configuration before those of the site', async (t) => {
  const server = await PipelineServer.start(t, [])
  writeFiles(join(server.dir, 'own'), { 'app/page.tsx': '', 'public/.keep': '' })
  const site = `[[sites]]
    id = "own"
    root = "own"
    hostnames = ["shop.test"]
    route_rules = [
      { pattern = "/a", redirect = "/of-site" },
      { pattern = "/b", redirect = "/of-site" },
      { pattern = "/**", headers = { "x-site" = "yes", "x-both" = "site" } },
    ]
    `
  const common = rule('pattern = "/a"\nredirect = "/of-all"') + rule('pattern = "/**"\nheaders = { "x-both" = "all" }')
  await server.reload([], common + site)
  assert.equal((await server.get('/a')).headers['location'], '/of-all')
  assert.equal((await server.get('/b')).headers['location'], '/of-site')
  const page = await server.get('/')
  assert.deepEqual([page.headers['x-site'], page.headers['x-both']], ['yes', 'site'])
})

test('host and methods narrow a rule', async (t) => {
  const server = await PipelineServer.start(
    t,
    [{ ...shop, hostnames: ['shop.test', '*.shop.test'] }],
    rule('pattern = "/"\nhost = "*.shop.test"\nredirect = "/of-host"') +
      rule('pattern = "/"\nmethods = ["DELETE"]\naction = "block"'),
  )
  assert.equal((await server.get('/')).status, 200)
  assert.equal((await server.get('/', { host: 'a.shop.test:99' })).headers['location'], '/of-host')
  assert.equal((await server.get('/', { method: 'DELETE' })).status, 403)
})

test('fields of rules are on every response, in place of its own', async (t) => {
  const server = await start(t, rule('pattern = "/**"\nheaders = { "content-type" = "text/own", "x-a" = "rule" }'))
  for (const path of ['/', '/none', '/items/7']) {
    const { headers } = await server.get(path)
    assert.deepEqual([headers['content-type'], headers['x-a']], ['text/own', 'rule'], path)
  }
})

test('permanent redirects are answered from L0, with their fields, until the rules change', async (t) => {
  const rules = rule('pattern = "/old/:page"\nredirect = "/items/:page"\nheaders = { "x-a" = "1" }')
  const server = await start(t, rules)
  const get = async (path: string) => {
    const { headers } = await server.get(path)
    return [headers['location'], headers['x-a'], String(headers['cache-status']).includes('svc-l0; hit')]
  }
  for (const isHit of [false, false, true]) assert.deepEqual(await get('/old/7?q'), ['/items/7?q', '1', isHit])
  await server.reload([shop], rules.replace('/items/', '/things/'))
  assert.deepEqual(await get('/old/7?q'), ['/things/7?q', '1', false])
})

test('L0 keeps GET and HEAD apart when a rule is for one of them', async (t) => {
  const server = await start(
    t,
    rule('pattern = "/x"\nmethods = ["HEAD"]\naction = "block"') + rule('pattern = "/x"\nredirect = "/y"'),
  )
  for (let i = 0; i < 4; i++) {
    assert.equal((await server.get('/x')).status, 308)
    assert.equal((await server.get('/x', { method: 'HEAD' })).status, 403)
  }
})

test('without a site rules hold, and everything else is 404', async (t) => {
  const server = await PipelineServer.start(t, [], rule('pattern = "/old"\nredirect = "https://new.test/"'))
  assert.equal((await server.get('/old')).headers['location'], 'https://new.test/')
  const response = await server.get('/other')
  assert.deepEqual([response.status, PipelineServer.codeOf(response)], [404, 'no_site'])
})

test('in front of a vhost a rewrite leads to its locations, and a path that it refuses stays refused', async (t) => {
  const server = await PipelineServer.start(t, [])
  writeFileSync(
    join(server.dir, 'web.conf'),
    'server { listen 127.0.0.1:8080; location /new/ { return 200 "$uri $args $request_uri"; } }',
  )
  server.listen = [{ name: '127.0.0.1:8080', host: '127.0.0.1', port: 8080 }]
  await server.reload([], `[server]\nvhosts = ["web.conf"]\n${rule('pattern = "/old/:p"\nrewrite = "/new/:p?own=1"')}`)
  const get = (path: string) => server.get(path, { host: 'a.test', listener: '127.0.0.1:8080' })
  assert.equal((await get('/old/a%20b?q=1')).text, '/new/a b own=1&q=1 /old/a%20b?q=1')
  assert.equal((await get('/../old/a')).status, 400)
})

test('a path that no rule can be compared with does not pass by them', async (t) => {
  const server = await start(t, rule('pattern = "/items/**"\naction = "block"'))
  assert.equal((await server.get('/items/%00')).status, 400)
  assert.equal((await server.get('/items/7')).status, 403)
})

test('the match of a "*" does not lead a rewrite out of its directory', async (t) => {
  const server = await start(t, rule('pattern = "/get-*"\nrewrite = "/items/*"'))
  assert.equal((await server.get('/get-7')).status, 200)
  for (const path of ['/get-..', '/get-.', '/get-%2e%2e']) assert.equal((await server.get(path)).status, 404, path)
})
