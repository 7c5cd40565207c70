import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fetchHttp, tempDir } from '@svc/testkit'
import { WebSocketServer } from 'ws'
import { deadAddress, type RawUpstream, startRaw } from '../../upstream/test/raw-upstream.ts'
import { type ProxyOptions, startProxy } from './proxy-server.ts'

const rule = (lines: string) => `[[route_rules]]\n${lines}\n`

/** An upstream that answers with the first line of the request. */
function startEcho(t: TestContext, where?: Parameters<typeof startRaw>[2]): Promise<RawUpstream> {
  const script: Parameters<typeof startRaw>[1] = (connection, head) => {
    const line = head.slice(0, head.indexOf(' HTTP/'))
    connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${line.length}\r\n\r\n${line}`)
  }
  return startRaw(t, script, where)
}

async function startRules(t: TestContext, rules: string, options: ProxyOptions = {}) {
  const server = await startProxy(t, 'location / { return 200 "of the location"; }', {
    ...options,
    config: `${options.config ?? ''}\n${rules}`,
  })
  const get = (path: string, more?: Parameters<typeof fetchHttp>[1]) => fetchHttp(`http://127.0.0.1:${server.port}${path}`, more)
  return { server, get }
}

test('a rule sends a request on as it came; others go to their location', async (t) => {
  const up = await startEcho(t)
  const { get } = await startRules(t, rule(`pattern = "/api/**"\nupstream = "http://${up.address}"`))
  assert.equal((await get('/api/a%20b//d?x=%20y')).text, 'GET /api/a%20b//d?x=%20y')
  assert.equal((await get('/api', { method: 'DELETE' })).text, 'DELETE /api')
  assert.equal((await get('/other')).text, 'of the location')
})

const PATHS: readonly (readonly [base: string, strip: string | undefined, path: string, sent: string])[] = [
  ['', '/api', '/api/x?y', '/x?y'],
  ['', '/api', '/api', '/'],
  ['', '/api/', '/api/x', '/x'],
  ['', '/ap', '/api/x', '/api/x'],
  ['/v1', '/api', '/api/x', '/v1/x'],
  ['/v1/', '/api', '/api/', '/v1/'],
  ['/v1', undefined, '/api/x', '/v1/api/x'],
  ['/', undefined, '/api/%7e/x%2Fy', '/api/%7e/x%2Fy'],
  ['', '/api', '/api/caf%C3%A9%20%25', '/caf%C3%A9%20%25'],
  ['/café', '/api', '/api/x', '/caf%C3%A9/x'],
]

test('prefixes are left out and put in front', async (t) => {
  const up = await startEcho(t)
  for (const [base, strip, path, sent] of PATHS) {
    const stripping = strip === undefined ? '' : `\nstrip_prefix = "${strip}"`
    const { get } = await startRules(t, rule(`pattern = "/api/**"\nupstream = "http://${up.address}${base}"${stripping}`))
    assert.equal((await get(path)).text, `GET ${sent}`, JSON.stringify([base, strip, path]))
  }
})

test('the upstream gets client and request from svc, and no forgeable field of the client', async (t) => {
  const up = await startEcho(t)
  const { get } = await startRules(t, rule(`pattern = "/**"\nupstream = "http://${up.address}"`))
  const headers = { 'x-forwarded-for': '9.9.9.9', 'x-forwarded-host': 'evil.test', 'x-own': 'own', cookie: 'SVC_ADMIN=a; b=c' }
  await get('/', { host: 'a.test:99', headers })
  const [connection] = up.connections
  const received = connection?.received ?? ''
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(received)?.[1]?.trim()
  assert.equal(field('host'), up.address)
  assert.equal(field('x-forwarded-for'), '127.0.0.1')
  assert.equal(field('x-forwarded-host'), 'a.test:99')
  assert.equal(field('x-forwarded-proto'), 'http')
  assert.equal(field('x-own'), 'own')
  assert.equal(field('cookie'), 'b=c')
  assert.match(field('cdn-loop') ?? '', /^svc;/)
})

test('forwarding fields of a trusted proxy are passed on', async (t) => {
  const up = await startEcho(t)
  const { get } = await startRules(t, rule(`pattern = "/**"\nupstream = "http://${up.address}"`), {
    config: 'trusted_proxies = ["127.0.0.1"]',
  })
  await get('/', { headers: { 'x-forwarded-for': '9.9.9.9', 'x-forwarded-host': 'front.test', 'x-forwarded-proto': 'https' } })
  const received = up.connections[0]?.received ?? ''
  assert.match(received, /x-forwarded-for: 9\.9\.9\.9, 127\.0\.0\.1\r\n/)
  assert.match(received, /x-forwarded-host: front\.test\r\n/)
  assert.match(received, /x-forwarded-proto: https\r\n/)
})

test('an upstream is a URL, a unix socket, or the name of a group', async (t) => {
  const tcp = await startEcho(t)
  const unix = await startEcho(t, { dir: tempDir(t, 'up') })
  const { get } = await startRules(
    t,
    rule('pattern = "/named/**"\nupstream = "app"') +
      rule(`pattern = "/upper/**"\nupstream = "HTTP://${tcp.address}"`) +
      rule(`pattern = "/unix/**"\nupstream = "http://${unix.address}:/bäse/"`) +
      rule(`pattern = "/socket/**"\nupstream = "http://${unix.address}"`),
    { outside: `upstream app { server ${await deadAddress()}; server ${tcp.address}; }` },
  )
  assert.equal((await get('/named/x')).text, 'GET /named/x')
  assert.equal((await get('/named/y')).text, 'GET /named/y')
  assert.equal((await get('/unix/x')).text, 'GET /b%C3%A4se/unix/x')
  assert.equal((await get('/upper/x')).text, 'GET /upper/x')
  assert.equal((await get('/socket/x')).text, 'GET /socket/x')
})

test('redirects of an upstream lead to where the rule has it, and fields of rules are on its answers', async (t) => {
  let address = ''
  const up = await startRaw(t, (connection) =>
    connection.send(`HTTP/1.1 302 Found\r\nLocation: http://${address}/login?x\r\nX-A: upstream\r\nContent-Length: 0\r\n\r\n`),
  )
  address = up.address
  const { get, server } = await startRules(
    t,
    rule(`pattern = "/api/**"\nupstream = "http://${up.address}"\nstrip_prefix = "/api"\nheaders = { "x-a" = "rule" }`),
  )
  const { status, headers } = await get('/api/x', { host: `a.test:${server.port}` })
  assert.deepEqual([status, headers['x-a']], [302, 'rule'])
  assert.match(headers.location ?? '', /^http:\/\/a\.test(:\d+)?\/api\/login\?x$/)
})

test('an unreachable upstream is 502, and so is one that names an internal path', async (t) => {
  const up = await startRaw(t, (connection) =>
    connection.send('HTTP/1.1 200 OK\r\nX-Accel-Redirect: /secret\r\nContent-Length: 0\r\n\r\n'),
  )
  const { get, server } = await startRules(
    t,
    rule(`pattern = "/dead"\nupstream = "http://${await deadAddress()}"`) +
      rule(`pattern = "/inner"\nupstream = "http://${up.address}"`),
  )
  for (const path of ['/dead', '/inner']) {
    const { status, text } = await get(path)
    assert.deepEqual([status, JSON.parse(text).code], [502, 'bad_gateway'])
  }
  assert.match(server.failures.join('\n'), /X-Accel-Redirect/)
})

test('a WebSocket goes through a rule', async (t) => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.after(() => {
    for (const client of sockets.clients) client.terminate()
    sockets.close()
  })
  sockets.on('connection', (socket, request) => {
    socket.on('message', (data) => socket.send(`${request.url} ${data}`))
  })
  await once(sockets, 'listening')
  const bound = sockets.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const { server } = await startRules(
    t,
    rule(`pattern = "/live/**"\nupstream = "http://127.0.0.1:${port}"\nstrip_prefix = "/live"`),
  )
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/live/room?a`)
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  socket.onerror = () => reject(new Error('the WebSocket failed'))
  socket.onopen = () => socket.send('hello')
  socket.onmessage = ({ data }) => resolve(data)
  assert.equal(await promise, '/room?a hello')
  socket.close()
})

test('a body goes through a rule', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'))
  const { get } = await startRules(t, rule(`pattern = "/**"\nmethods = ["POST"]\nupstream = "http://${up.address}"`))
  assert.equal((await get('/x', { method: 'POST', body: 'the body' })).status, 201)
  assert.match(up.connections[0]?.received ?? '', /the body$/)
  assert.equal((await get('/x')).text, 'of the location')
})

test('too long a body reaches no upstream', async (t) => {
  const up = await startEcho(t)
  const { get } = await startRules(t, rule(`pattern = "/**"\nupstream = "http://${up.address}"`), {
    config: 'max_body_bytes = 10',
  })
  const { status, text } = await get('/x', { method: 'POST', body: 'the whole body' })
  assert.deepEqual([status, JSON.parse(text).code, up.connections.length], [413, 'body_too_large', 0])
})

test('credentials of the URL are this server’s own', async (t) => {
  const up = await startEcho(t)
  const { get } = await startRules(t, rule(`pattern = "/**"\nupstream = "http://me:p%40ss@${up.address}/base@x"`))
  const { text } = await get('/y', { headers: { authorization: 'Bearer of-the-client' } })
  assert.equal(text, 'GET /base@x/y')
  const received = up.connections[0]?.received ?? ''
  assert.deepEqual(
    received.match(/^authorization: .*$/gim)?.map((line) => line.trim()),
    [`authorization: Basic ${btoa('me:p@ss')}`],
  )
  assert.match(received, new RegExp(`^host: ${up.address}\r$`, 'im'))
})
