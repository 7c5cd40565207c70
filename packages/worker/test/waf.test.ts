import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeFiles } from '@svc/testkit'
import { PipelineServer, shop } from './pipeline-server.ts'

const rule = (id: string, when: string, more = '') =>
  `[[waf.rules]]\nid = "${id}"\naction = "block"\nwhen = { ${when} }\n${more}\n`
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const blog = { id: 'blog', hostnames: ['blog.test'], files: { 'public/a.txt': 'blog' } }
const files = { ...shop, files: { 'public/a.txt': 'whole page', 'public/admin/x.txt': 'secret' } }

test('a rule blocks with 403 and the request id alone', async (t) => {
  const server = await PipelineServer.start(t, [files], rule('no-admin', 'path = "^/admin"'))
  const blocked = await server.get('/admin/x.txt')
  assert.equal(blocked.status, 403)
  assert.deepEqual(Object.keys(JSON.parse(blocked.text)).sort(), ['code', 'request_id', 'status', 'title', 'type'])
  assert.ok(!blocked.text.includes('no-admin'))
  assert.equal((await server.get('/a.txt')).status, 200)
  assert.deepEqual(
    server.wafEvents.map(({ rule: id, action, site, path, method }) => ({ id, action, site, path, method })),
    [{ id: 'no-admin', action: 'block', site: 'shop', path: '/admin/x.txt', method: 'GET' }],
  )
  assert.deepEqual(await server.metric('svc_waf_matches_total'), { 'no-admin block': 1 })
})

test('escapes, dot segments and repeated slashes do not get past a rule', async (t) => {
  const server = await PipelineServer.start(t, [files], rule('no-admin', 'path = "^/admin/"'))
  for (const path of ['/%61dmin/x', '/%2561dmin/x', '//admin/x', '/a/../admin/x', '/a%2f..%2fadmin/x', '/.//admin/x'])
    assert.equal((await server.get(path)).status, 403, path)
})

test('all conditions of a rule must hold, on any value of a field', async (t) => {
  const conditions =
    'method = "^POST$", query = "(?i)token=x y", header = { "x-a" = "^bad$" }, user_agent = "^$", ip = ["192.0.2.0/24"]'
  const server = await PipelineServer.start(t, [files], rule('all', conditions))
  const good = { method: 'POST', remoteAddress: '192.0.2.7' }
  const headers = { 'x-a': ['fine', 'bad'] }
  const hit = { ...good, headers }
  assert.equal((await server.get('/?TOKEN=x%2520y', hit)).status, 403)
  assert.equal((await server.get('/?token=x+y', hit)).status, 403)
  assert.notEqual((await server.get('/?token=z', hit)).status, 403)
  assert.notEqual((await server.get('/?token=x+y', { ...hit, method: 'GET' })).status, 403)
  assert.notEqual((await server.get('/?token=x+y', { ...hit, remoteAddress: '198.51.100.1' })).status, 403)
  assert.notEqual((await server.get('/?token=x+y', { ...good, headers: { 'x-a': 'fine' } })).status, 403)
  assert.notEqual((await server.get('/?token=x+y', { ...good, headers: { ...headers, 'user-agent': 'curl' } })).status, 403)
})

test('a rule of a site leaves other sites alone', async (t) => {
  const server = await PipelineServer.start(
    t,
    [files, blog],
    rule('of-blog', 'path = "a"').replace('action', 'site = "blog"\naction'),
  )
  assert.equal((await server.get('/a.txt')).status, 200)
  assert.equal((await server.get('/a.txt', { host: 'blog.test' })).status, 403)
})

test('rules and packs come before the servers and locations of vhost files', async (t) => {
  const server = await PipelineServer.start(t, [files])
  server.listen = [{ name: '127.0.0.1:8080', host: '127.0.0.1', port: 8080 }]
  writeFiles(server.dir, {
    'html/a.txt': 'a file',
    'v.conf': `server { listen 127.0.0.1:8080; server_name v.test; root ${server.dir}/html;
      location = /text { return 200 text; } location /up/ { proxy_pass http://127.0.0.1:1; } }
      server { listen 127.0.0.1:8080; server_name site.test; location / { svc_app shop; } }`,
  })
  const vhosts = '[server]\nvhosts = ["v.conf"]\n[waf.packs]\ntraversal = "block"\n'
  const ofShop = rule('of-shop', 'query = "shop"').replace('action', 'site = "shop"\naction')
  await server.reload([files], `${vhosts}${rule('bad', 'query = "bad"')}${ofShop}`)
  const status = async (path: string, host = 'v.test') => (await server.get(path, { host, listener: '127.0.0.1:8080' })).status
  for (const path of ['/a.txt', '/text', '/up/x', '/none']) {
    const open = await status(path)
    assert.notEqual(open, 403, path)
    assert.deepEqual([await status(`${path}?bad`), await status(`${path}?file=../../etc/passwd`)], [403, 403], path)
    assert.equal(await status(`${path}?shop`), open, 'the rule is of another site')
  }
  assert.deepEqual([await status('/a.txt', 'site.test'), await status('/a.txt?bad', 'site.test')], [200, 403])
  assert.deepEqual([await status('/a.txt?shop', 'shop.test'), server.wafEvents.length > 0], [403, true])
})

test('a rule looks at the body before its handler gets it whole', async (t) => {
  const server = await PipelineServer.start(t, [files], rule('words', 'path = "^/up", body = "bad word"'))
  const bodies: string[] = []
  server.intercept = (context) => {
    const chunks: Uint8Array[] = []
    context.body.read(
      (chunk, ack) => {
        chunks.push(chunk)
        ack()
      },
      () => {
        bodies.push(Buffer.concat(chunks).toString())
        context.respond({ status: 204, headers: [] })
      },
    )
    return 'answered'
  }
  const post = (path: string, body: string, headers: Record<string, string> = form) =>
    server.get(path, { method: 'POST', body: Buffer.from(body), headers })
  assert.equal((await post('/up', 'a=bad+word')).status, 403)
  assert.equal((await post('/up', 'a=b%61d%20w%256frd')).status, 403)
  assert.equal((await post('/up', '{"a":"bad\\u0020word"}', { 'content-type': 'application/json' })).status, 403)
  assert.deepEqual(bodies, [])
  const large = 'x'.repeat(1_000_000)
  assert.equal((await post('/up', large)).status, 204)
  assert.equal((await post('/other', 'bad word')).status, 204)
  assert.deepEqual(bodies, [large, 'bad word'])
  assert.deepEqual(await server.metric('svc_waf_uninspected_total'), { body: 1 })
})

test('monitor lets requests pass, and so does a mode of monitor', async (t) => {
  const server = await PipelineServer.start(t, [files], rule('a', 'path = "a"').replace('block', 'monitor'))
  assert.equal((await server.get('/a.txt')).status, 200)
  await server.reload([files], `waf.mode = "monitor"\n${rule('b', 'path = "a"')}`)
  assert.equal((await server.get('/a.txt')).status, 200)
  await server.reload([files], `waf.mode = "off"\n${rule('b', 'path = "a"')}`)
  assert.equal((await server.get('/a.txt')).status, 200)
  assert.deepEqual(
    server.wafEvents.map(({ rule: id, action }) => `${id} ${action}`),
    ['a monitor', 'b monitor'],
  )
})

test('a rule with a rate acts when the count says so, and a client over it is not counted again at once', async (t) => {
  const server = await PipelineServer.start(t, [files], rule('flood', 'path = "a"', 'rate = { count = 2, window_secs = 60 }'))
  const asked: string[] = []
  server.countMatch = async ({ rule: id, client }) => {
    asked.push(`${id} ${client}`)
    return { isOver: asked.length > 2, retryMs: 60_000 }
  }
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await server.get('/a.txt', { remoteAddress: '2001:db8::7' })).status)
  assert.deepEqual(statuses, [200, 200, 403, 403, 403])
  assert.deepEqual(asked, Array(3).fill('flood 2001:db8::/64'))
})

/** Redirects enter L0 with the second request. */
const redirects = ['/a', '/b'].map((path) => `[[route_rules]]\npattern = "${path}"\nredirect = "/c"\n`).join('')

test('L0 keeps no response that a rule beyond path and query may decide on otherwise', async (t) => {
  const hitsOf = async (rules: string, path: string) => {
    const server = await PipelineServer.start(t, [files], redirects + rules)
    for (let i = 0; i < 3; i++) assert.equal((await server.get(path)).status, 308)
    return (await server.metric('svc_l0_hits_total'))['']
  }
  const agent = rule('agent', 'path = "^/a", user_agent = "bad"')
  assert.equal(await hitsOf(rule('path', 'path = "^/never", query = "x"'), '/a'), 1)
  assert.equal(await hitsOf(agent, '/a'), 0)
  assert.equal(await hitsOf(agent, '/b'), 1)
  assert.equal(await hitsOf(rule('head', 'path = "^/a", method = "^HEAD$"'), '/a'), 0)
  assert.equal(await hitsOf(rule('posts', 'path = "^/a", method = "^POST$"'), '/a'), 1)
  assert.equal(await hitsOf(rule('seen', 'path = "^/a"').replace('block', 'monitor'), '/a'), 0)
  assert.equal(await hitsOf('[waf.packs]\ntraversal = "block"\n', '/a'), 1)
  assert.equal(await hitsOf('[waf.packs]\nscanner = "block"\n', '/a'), 0)
})

test('a response in L0 is not served any more when a new rule blocks it', async (t) => {
  const server = await PipelineServer.start(t, [files], redirects)
  for (let i = 0; i < 3; i++) assert.equal((await server.get('/a')).status, 308)
  assert.equal((await server.metric('svc_l0_hits_total'))[''], 1)
  await server.reload([files], redirects + rule('now', 'path = "^/a"'))
  assert.equal((await server.get('/a')).status, 403)
})

test('built-in endpoints answer whatever the rules say', async (t) => {
  const server = await PipelineServer.start(t, [files], rule('all', 'path = "."'))
  assert.equal((await server.get('/__svc/health')).status, 200)
  assert.equal((await server.get('/')).status, 403)
})

test('hostile requests: a body of 10 MB, a thousand fields, and many addresses with a rate', async (t) => {
  const packs = '[waf.packs]\ntraversal = "block"\nsqli = "block"\nxss = "block"\nscanner = "block"\nprotocol = "block"\n'
  const limits = '[server]\nmax_body_bytes = 20000000\nmax_header_bytes = 1048576\n'
  const flood = rule('flood', 'path = "^/a"', 'rate = { count = 1, window_secs = 60 }')
  const server = await PipelineServer.start(t, [files], limits + packs + flood)
  let received = 0
  server.intercept = (context) => {
    context.body.read(
      (chunk, ack) => {
        received += chunk.byteLength
        ack()
      },
      () => context.respond({ status: 204, headers: [] }),
    )
    return 'answered'
  }
  const clean = Buffer.alloc(10_000_000, 'ab cd ')
  assert.equal((await server.get('/x', { method: 'POST', body: clean, headers: { 'content-type': 'text/plain' } })).status, 204)
  assert.equal(received, clean.byteLength)
  const evil = Buffer.concat([Buffer.from("q=' or 1=1 -- &r="), clean])
  assert.equal((await server.get('/x', { method: 'POST', body: evil, headers: form })).status, 403)
  assert.equal(received, clean.byteLength)
  const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`x-${n}`, 'v'.repeat(40)]))
  assert.equal((await server.get('/x', { headers: fields })).status, 204)
  assert.equal((await server.get('/x', { headers: { ...fields, 'x-999': "' or 1=1 -- " } })).status, 403)
  let asked = 0
  server.countMatch = async () => {
    asked++
    return { isOver: false, retryMs: 0 }
  }
  for (let n = 0; n < 300; n++) await server.get('/a', { remoteAddress: `2001:db8:${n.toString(16)}::1` })
  assert.equal(asked, 300)
})
