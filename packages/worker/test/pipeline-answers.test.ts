import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { RenderRequest } from '@svc/protocol'
import type { CannedSink } from './canned-renderer.ts'
import { complete, streamed } from './canned-renderer.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const html: [string, string][] = [['content-type', 'text/html']]
const text = 'words that repeat, '.repeat(500)

test('a complete answer is compressed as the client likes, and HEAD has the same fields', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.answer = ({ sink }) => sink.complete(complete(200, html), Buffer.from(text))
  const gzip = await server.get('/', { headers: { 'accept-encoding': 'gzip' } })
  assert.equal(gzip.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(gzip.body).toString(), text)
  const best = await server.get('/', { headers: { 'accept-encoding': 'gzip, br' } })
  assert.equal(best.headers['content-encoding'], 'br')
  assert.equal(brotliDecompressSync(best.body).toString(), text)
  const head = await server.get('/', { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
  assert.deepEqual(head.headers, gzip.headers)
  const plain = await server.get('/')
  assert.equal(plain.text, text)
  assert.equal(plain.headers['vary'], 'Accept-Encoding')
})

test('HEAD of a handler that gives no body says nothing about its length', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.answer = ({ sink }) => sink.complete(complete(200, html), undefined)
  const head = await server.get('/api', { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(head.headers['content-type'], 'text/html')
  assert.equal(head.headers['content-length'], undefined)
  assert.equal((await server.get('/api')).headers['content-length'], '0')
})

test('a body that is lent is not read after the render has taken it back', async (t) => {
  const server = await PipelineServer.start(t)
  for (const [size, headers] of [
    [9000, { 'accept-encoding': 'gzip' }],
    [200_000, {}],
  ] as const) {
    server.renderer.answer = ({ sink }) => {
      const lent = Buffer.alloc(size, 'a')
      sink.complete(complete(200, html), lent)
      lent.fill('b')
    }
    const response = await server.get('/', { headers, windowBytes: 1000 })
    const body = response.headers['content-encoding'] === 'gzip' ? gunzipSync(response.body) : response.body
    assert.ok(body.equals(Buffer.alloc(size, 'a')), `${size} bytes`)
  }
})

test('a streamed answer is compressed and each piece can be read at once', async (t) => {
  const server = await PipelineServer.start(t)
  let onFirstPiece = () => undefined
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers: html })
    onFirstPiece = () => {
      onFirstPiece = () => undefined
      sink.chunk(Buffer.from('second'), () => undefined)
      sink.end(streamed)
    }
    sink.chunk(Buffer.from('first '), () => undefined)
  }
  const onChunk = () => setImmediate(() => onFirstPiece())
  const response = await server.get('/', { headers: { 'accept-encoding': 'gzip' }, onChunk })
  assert.equal(response.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(response.body).toString(), 'first second')
})

test('a stream goes no faster than the client takes it', async (t) => {
  const server = await PipelineServer.start(t)
  let inFlight = 0
  let mostInFlight = 0
  const send = (sink: CannedSink, left: number) => {
    if (left === 0) return sink.end(streamed)
    mostInFlight = Math.max(mostInFlight, ++inFlight)
    return sink.chunk(Buffer.alloc(1000, 'x'), () => {
      inFlight--
      setImmediate(send, sink, left - 1)
    })
  }
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers: [] })
    send(sink, 50)
  }
  const response = await server.get('/', { windowBytes: 1500 })
  assert.equal(response.body.byteLength, 50_000)
  assert.equal(mostInFlight, 1)
})

test('a chunk that the client does not take is not acknowledged until it does', async (t) => {
  const server = await PipelineServer.start(t)
  const order: string[] = []
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers: [] })
    sink.chunk(Buffer.alloc(10), () => order.push('small'))
    sink.chunk(Buffer.alloc(100), () => {
      order.push('large')
      sink.end(streamed)
    })
    order.push('sent')
  }
  await server.get('/', { windowBytes: 50 })
  assert.deepEqual(order, ['small', 'sent', 'large'])
})

test('a client that leaves aborts its render, waiting or streaming; one that leaves before causes none', async (t) => {
  const server = await PipelineServer.start(t)
  const gone = new AbortController()
  server.renderer.answer = () => setImmediate(() => gone.abort())
  assert.ok((await server.get('/', { signal: gone.signal })).aborted)
  assert.deepEqual(server.renderer.aborted, ['id-1'])

  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers: [] })
    sink.chunk(Buffer.from('a'), () => undefined)
  }
  assert.ok((await server.get('/', { onChunk: (_chunk, abort) => setImmediate(abort) })).aborted)
  assert.deepEqual(server.renderer.aborted, ['id-1', 'id-2'])

  const describing = Promise.withResolvers<void>()
  server.renderer.beforeDescribe = () => describing.promise
  server.renderer.answer = () => undefined
  server.generation.sites.get('shop')?.forget()
  const early = new AbortController()
  const pending = server.get('/', { signal: early.signal })
  early.abort()
  assert.ok((await pending).aborted)
  const app = server.generation.sites.get('shop')?.app()
  describing.resolve()
  await app
  await new Promise(setImmediate)
  assert.equal(server.renderer.requests.length, 2)
  assert.deepEqual(server.renderer.aborted, ['id-1', 'id-2'])
})

test('a render without a reader is not completed', async (t) => {
  const server = await PipelineServer.start(t)
  let acks = 0
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers: [] })
    sink.chunk(Buffer.from('and so on'), () => acks++)
  }
  const response = await server.get('/api', { method: 'HEAD' })
  assert.equal(response.status, 200)
  assert.ok(!response.aborted)
  assert.deepEqual(server.renderer.aborted, ['id-1'])
  assert.equal(acks, 0)
})

const fieldsOf = (request: RenderRequest | undefined, name: string) =>
  request?.headers.flatMap(([field, value]) => (field === name ? [value] : []))

test('only a trusted peer is believed about the client', async (t) => {
  const more = '[server]\ntrusted_proxies = ["10.0.0.0/8"]\n'
  const server = await PipelineServer.start(t, [shop, { ...shop, id: 'other', hostnames: ['other.test'] }], more)
  const headers = {
    'x-forwarded-for': '192.0.2.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'other.test',
    'x-real-ip': '192.0.2.7',
    'x-svc-site': 'x',
    'x-middleware-next': '1',
    'x-nextjs-data': '1',
    'x-request-id': 'given',
    'x-plain': 'kept',
  }
  await server.get('/', { headers, remoteAddress: '192.0.2.200' })
  const [untrusted] = server.renderer.requests
  assert.deepEqual(untrusted?.headers.map(([name]) => name).sort(), ['host', 'x-forwarded-proto', 'x-plain', 'x-request-id'])
  assert.deepEqual(fieldsOf(untrusted, 'x-forwarded-proto'), ['http'])
  assert.equal(untrusted.url, 'http://shop.test/')
  assert.equal(untrusted.remoteAddress, '192.0.2.200')
  assert.equal(untrusted.requestId, 'id-1')

  await server.get('/', { headers, remoteAddress: '10.0.0.1' })
  const trusted = server.renderer.requests[1]
  assert.equal(trusted?.site, 'other')
  assert.equal(trusted.url, 'https://other.test/')
  assert.equal(trusted.remoteAddress, '192.0.2.7')
  assert.equal(trusted.requestId, 'given')
  assert.ok(trusted.headers.some(([name, value]) => name === 'host' && value === 'other.test'))
  assert.ok(trusted.headers.some(([name]) => name === 'x-forwarded-for'))
  assert.deepEqual(fieldsOf(trusted, 'x-forwarded-proto'), ['https'])

  // Forwarded comes before what no standard describes, and the hop that vouches for the client decides.
  const both = { ...headers, forwarded: 'for=192.0.2.7;proto=http;host=other.test', 'x-forwarded-host': 'evil.test' }
  await server.get('/', { headers: both, remoteAddress: '10.0.0.1' })
  const chosen = server.renderer.requests[2]
  assert.equal(chosen?.url, 'http://other.test/')
  assert.deepEqual(fieldsOf(chosen, 'x-forwarded-proto'), ['http'])
  assert.deepEqual(fieldsOf(chosen, 'x-forwarded-host'), ['other.test'])
})

test('the cookie of the service is taken out and no other', async (t) => {
  const server = await PipelineServer.start(t)
  const cookieOf = async (cookie: string) => {
    await server.get('/', { headers: { cookie } })
    return server.renderer.requests.at(-1)?.headers.find(([name]) => name === 'cookie')?.[1]
  }
  assert.equal(await cookieOf('a=1; SVC_ADMIN=token; b=2'), 'a=1; b=2')
  assert.equal(await cookieOf('SVC_ADMIN=token'), undefined)
  assert.equal(await cookieOf('XSVC_ADMIN=1; SVC_ADMINX=2'), 'XSVC_ADMIN=1; SVC_ADMINX=2')
  assert.equal(await cookieOf(' SVC_ADMIN = token;SVC_ADMIN=2;c=3'), 'c=3')
})

test('a site neither sets nor clears the cookie of the service', async (t) => {
  const server = await PipelineServer.start(t)
  const cookies = ['a=1', 'SVC_ADMIN=stolen; Path=/__svc/', 'svc_admin=; Max-Age=0', '=SVC_ADMIN=x', 'b=2']
  const headers = [...html, ...cookies.map((value): [string, string] => ['Set-Cookie', value])]
  const cookiesOf = async () => {
    const { headerList } = await server.get('/')
    return headerList.filter(([name]) => name.toLowerCase() === 'set-cookie').map(([, value]) => value)
  }
  server.renderer.answer = ({ sink }) => sink.complete(complete(200, headers), Buffer.from(text))
  assert.deepEqual(await cookiesOf(), ['a=1', 'b=2'])
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers })
    sink.end(streamed)
  }
  assert.deepEqual(await cookiesOf(), ['a=1', 'b=2'])
})

test('the access log has one line for each request, with what was sent', async (t) => {
  const files = { ...shop.files, 'public/a.txt': 'the file' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  server.renderer.answer = ({ sink }) => sink.complete(complete(201, html), Buffer.from('12345'))
  await server.get('/items/1?secret=1', { headers: { 'user-agent': 'a "b"' }, remoteAddress: '192.0.2.1' })
  await server.get('/', { method: 'HEAD' })
  await server.get('/a.txt')
  await server.get('/items/1', { method: 'PUT' })
  const gone = new AbortController()
  server.renderer.answer = () => gone.abort()
  await server.get('/', { signal: gone.signal })
  const lines = await server.accessLog()
  assert.deepEqual(
    lines.map(({ method, path, status, bytes, site }) => `${method} ${path} ${status} ${bytes} ${site}`).slice(0, 3),
    ['GET /items/1 201 5 shop', 'HEAD / 201 0 shop', 'GET /a.txt 200 8 shop'],
  )
  assert.equal(lines[0]?.['client'], '192.0.2.1')
  assert.equal(lines[0]['user_agent'], 'a "b"')
  assert.equal(lines[0]['request_id'], server.renderer.requests[0]?.requestId)
  assert.deepEqual([lines[3]?.['status'], lines[4]?.['status'], lines[4]?.['bytes'], lines.length], [405, 499, 0, 5])
})

test('metrics count by method, status and path group, never by path', async (t) => {
  const files = { ...shop.files, 'public/a.txt': 'the file' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  for (const id of [1, 2, 3]) await server.get(`/items/${id}`)
  for (const path of ['/a.txt', '/nowhere/1', '/nowhere/2', '/__svc/none', '/items/1/']) await server.get(path)
  await server.get('/api', { method: 'BREW', body: '12' })
  assert.deepEqual(await server.metric('http_requests_total'), {
    'GET 200 /items/[id]': 3,
    'GET 200 static': 1,
    'GET 200 other': 2,
    'GET 404 builtin': 1,
    'GET 308 other': 1,
    'OTHER 200 /api': 1,
  })
})
