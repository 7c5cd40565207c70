import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { codeOf } from '@svc/core'
import type { BodyWriter, HttpExchange } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

const ok = { status: 200, headers: [] } as const
const show = (exchange: HttpExchange) => {
  const { method, target, host, httpVersion, headers } = exchange.request
  exchange.respond(ok, Buffer.from(JSON.stringify({ method, target, host, httpVersion, headers })))
}

/** Sends bytes and gives all that comes until the server closes. */
async function talk(t: TestContext, port: number, bytes: string, halfClose = false): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1')
  })
  socket.write(bytes)
  if (halfClose) socket.end()
  await once(socket, 'end')
  return text
}

async function openSession(t: TestContext, port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on('error', () => undefined)
  t.after(() => session.destroy())
  await once(session, 'connect')
  return session
}

/** Everything that can be read. */
async function textOf(stream: ClientHttp2Stream | IncomingMessage | TLSSocket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

describe('engine node, HTTP/1', { concurrency: true }, () => {
  test('HTTP/1.0 is answered and closed, or kept where the client asks for it', async (t) => {
    const { port } = await startEngine(t, 'node', show)
    const closed = await talk(t, port, 'GET / HTTP/1.0\r\n\r\n')
    assert.match(closed, /^connection: close\r$/im)
    assert.match(closed, /"host":"","httpVersion":"1.0"/)
    const kept = await talk(
      t,
      port,
      'GET /1 HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\nHost: a\r\n\r\n',
    )
    assert.match(kept, /^connection: keep-alive\r$/im)
    assert.match(kept, /"target":"\/2"/)
  })

  test('a stream of unknown length to HTTP/1.0 ends with the connection, and one that breaks with a reset', async (t) => {
    const begun: BodyWriter[] = []
    const { port } = await startEngine(t, 'node', (exchange) => {
      const writer = exchange.stream(ok)
      writer.write(Buffer.from('some'))
      if (exchange.request.path === '/whole') writer.end(Buffer.from(' more'))
      else begun.push(writer)
    })
    const whole = await talk(t, port, 'GET /whole HTTP/1.0\r\n\r\n')
    assert.match(whole, /\r\n\r\nsome more$/)
    assert.doesNotMatch(whole, /transfer-encoding/i)
    const socket = connect({ port, host: '127.0.0.1' })
    t.after(() => socket.destroy())
    socket.write('GET /broken HTTP/1.0\r\n\r\n')
    const failed = new Promise((resolve) => socket.once('error', (error) => resolve(codeOf(error))))
    let text = ''
    socket.on('data', (data: Buffer) => {
      text += data
    })
    await waitFor('the beginning', () => text.endsWith('some'))
    begun[0]?.abort()
    assert.equal(await failed, 'ECONNRESET')
  })

  test('nothing runs behind a stream of unknown length to HTTP/1.0, also if the client wants to go on', async (t) => {
    const ran: string[] = []
    const { port } = await startEngine(t, 'node', (exchange) => {
      ran.push(exchange.request.target)
      const writer = exchange.stream(ok)
      setImmediate(() => writer.end(Buffer.from('all')))
    })
    const one = (target: string) => `GET ${target} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`
    const text = await talk(t, port, one('/1') + one('/2'))
    assert.match(text, /^connection: close\r$/im)
    assert.match(text, /\r\n\r\nall$/)
    assert.deepEqual(ran, ['/1'])
  })

  test('an unknown expectation is rejected like any other mistake', async (t) => {
    const { port, refusals } = await startEngine(t, 'node', () => assert.fail('must not run'))
    const text = await talk(t, port, 'GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.match(text, /^HTTP\/1.1 417 /)
    assert.match(text, /\r\nConnection: close\r\n/)
    assert.deepEqual(
      refusals.map(({ code, target }) => [code, target]),
      [['unknown_expectation', '/']],
    )
  })

  test('absolute form: its authority stands in for the Host field', async (t) => {
    const { port } = await startEngine(t, 'node', show)
    const answers = await talk(
      t,
      port,
      'GET http://B.test:81/a?b HTTP/1.1\r\nHost: a.test\r\n\r\nGET HTTP://c.test HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n',
    )
    assert.match(answers, /"target":"\/a\?b","host":"b.test:81"/)
    assert.match(answers, /"target":"\/","host":"c.test"/)
  })

  test('requests of a connection run one after the other, however many come at once', async (t) => {
    let running = 0
    let most = 0
    const { port } = await startEngine(t, 'node', (exchange) => {
      most = Math.max(most, ++running)
      setImmediate(() => {
        running--
        exchange.respond(ok, Buffer.from(exchange.request.target))
      })
    })
    const count = 500
    const requests = Array.from({ length: count }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const text = await talk(t, port, `${requests.join('')}GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    const bodies = [...text.matchAll(/\r\n\r\n(\/(?:\d+|last))/g)].map(([, body]) => body)
    assert.deepEqual(bodies, [...Array.from({ length: count }, (_, at) => `/${at}`), '/last'])
    assert.equal(most, 1)
  })

  test('a client that has half-closed gets its answer, and a stream to the end', async (t) => {
    const { port } = await startEngine(t, 'node', (exchange) => {
      setImmediate(() => {
        if (exchange.request.path === '/') return exchange.respond(ok, Buffer.from('late'))
        const writer = exchange.stream(ok, { length: 8 })
        writer.write(Buffer.from('half'))
        setImmediate(() => writer.end(Buffer.from('half')))
      })
    })
    assert.match(await talk(t, port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', true), /\r\n\r\nlate$/)
    assert.match(await talk(t, port, 'GET /stream HTTP/1.1\r\nHost: a\r\n\r\n', true), /\r\n\r\nhalfhalf$/)
  })

  test('interim responses and trailers reach a client that takes them', async (t) => {
    const { port } = await startEngine(t, 'node', (exchange) => {
      exchange.informational?.({ status: 103, headers: [['Link', '</a.css>; rel=preload']] })
      exchange.informational?.({ status: 101, headers: [] })
      exchange.stream(ok).end(Buffer.from('body'), [['X-Sum', 'caf\u00e9']])
    })
    const hints: unknown[] = []
    const sent = httpRequest({ port, host: '127.0.0.1', headers: { te: 'trailers' }, agent: new Agent() })
    sent.on('information', ({ statusCode, headers }) => hints.push([statusCode, headers.link]))
    sent.end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    assert.equal(await textOf(response), 'body')
    assert.deepEqual(hints, [[103, '</a.css>; rel=preload']])
    assert.deepEqual({ ...response.trailers }, { 'x-sum': 'caf\u00e9' })
    const plain = await talk(t, port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.doesNotMatch(plain, /x-sum/i)
    assert.doesNotMatch(await talk(t, port, 'GET / HTTP/1.0\r\n\r\n'), /103|x-sum/i)
  })

  test('an idle connection is closed after the idle time, a fresh one too', async (t) => {
    const { port, engine } = await startEngine(t, 'node', show, { idleTimeoutMs: 100 })
    const socket = connect({ port, host: '127.0.0.1' })
    socket.resume()
    await once(socket, 'close')
    const text = await talk(t, port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.match(text, /^HTTP\/1.1 200 /)
    await waitFor('no connection', () => engine.connections === 0)
  })
})

describe('engine node, HTTP/2', { concurrency: true }, () => {
  test('crumbs of a cookie come as one, and the authority as host', async (t) => {
    const { port } = await startEngine(t, 'node', show, { tls: anyCertificate(t) })
    const session = await openSession(t, port)
    const cookie = ['a=1', 'b=2', 'c=3']
    const stream = session.request({ ':path': '/', ':authority': 'A.test:8', cookie, 'x-list': ['1', '2'] })
    const { host, headers, httpVersion } = JSON.parse(await textOf(stream))
    assert.deepEqual([host, httpVersion], ['a.test:8', '2'])
    const kept = headers.filter(([name]: [string]) => ['host', 'cookie', 'x-list'].includes(name)).sort()
    assert.deepEqual(kept.at(0), ['cookie', 'a=1; b=2; c=3'])
    assert.equal(kept.filter(([name]: [string]) => name === 'host').length, 1)
  })

  test('interim responses and trailers', async (t) => {
    const { port } = await startEngine(
      t,
      'node',
      (exchange) => {
        exchange.informational?.({ status: 103, headers: [['Link', '</a.css>; rel=preload']] })
        exchange.stream(ok).end(Buffer.from('body'), [['X-Sum', '42']])
      },
      { tls: anyCertificate(t) },
    )
    const session = await openSession(t, port)
    const stream = session.request({ ':path': '/', te: 'trailers' })
    const hints: unknown[] = []
    const trailers: unknown[] = []
    stream.on('headers', (headers) => hints.push([headers[':status'], headers['link']]))
    stream.on('trailers', (headers) => trailers.push(headers['x-sum']))
    assert.equal(await textOf(stream), 'body')
    assert.deepEqual([hints, trailers], [[[103, '</a.css>; rel=preload']], ['42']])
  })

  test('a field that may occur once is sent once, even if the application sets it twice', async (t) => {
    const headers = [
      ['Content-Type', 'text/plain'],
      ['content-type', 'text/html'],
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
    ] as const
    const { port } = await startEngine(t, 'node', (exchange) => exchange.respond({ status: 200, headers }), {
      tls: anyCertificate(t),
    })
    const session = await openSession(t, port)
    const stream = session.request({ ':path': '/' })
    const [got] = await once(stream, 'response')
    assert.deepEqual([got['content-type'], got['set-cookie']], ['text/plain', ['a=1', 'b=2']])
  })

  for (const [offered, chosen] of [
    [['h2', 'http/1.1'], 'h2'],
    [['http/1.1', 'h2'], 'h2'],
    [['http/1.1'], 'http/1.1'],
    [['http/1.0'], 'http/1.0'],
    [undefined, false],
  ] as const) {
    test(`clients that offer ${offered ?? 'nothing'} get ${chosen || 'HTTP/1.1'}`, async (t) => {
      const { port } = await startEngine(t, 'node', show, { tls: anyCertificate(t) })
      const options = { port, host: '127.0.0.1', rejectUnauthorized: false }
      const socket = connectTls({ ...options, ...(offered === undefined ? {} : { ALPNProtocols: [...offered] }) })
      t.after(() => socket.destroy())
      await once(socket, 'secureConnect')
      assert.equal(socket.alpnProtocol, chosen)
      if (chosen === 'h2') return
      socket.write('GET / HTTP/1.0\r\nHost: a.test\r\n\r\n')
      assert.match(await textOf(socket), /^HTTP\/1\.1 200 OK\r\n/)
    })
  }

  test('OPTIONS * is answered by the server', async (t) => {
    const { port, refusals } = await startEngine(t, 'node', () => assert.fail('must not run'), { tls: anyCertificate(t) })
    const session = await openSession(t, port)
    const [got] = await once(session.request({ ':method': 'OPTIONS', ':path': '*' }), 'response')
    assert.equal(got[':status'], 204)
    assert.equal(refusals[0]?.code, 'options_asterisk')
  })

  test('a drain announces itself to clients, lets streams end and accepts no more', async (t) => {
    const waiting: HttpExchange[] = []
    const { engine, port } = await startEngine(t, 'node', (exchange) => waiting.push(exchange), { tls: anyCertificate(t) })
    const session = await openSession(t, port)
    const stream = session.request({ ':path': '/' })
    await waitFor('the request', () => waiting.length === 1)
    const gone = once(session, 'goaway')
    const closed = once(session, 'close')
    const drained = engine.drain(30_000)
    await gone
    waiting[0]?.respond(ok, Buffer.from('done'))
    assert.equal(await textOf(stream), 'done')
    assert.deepEqual(await drained, { cut: 0 })
    await closed
    assert.equal(engine.connections, 0)
  })

  test('many streams of one connection are answered at once, and a slow one keeps none', async (t) => {
    const { port } = await startEngine(
      t,
      'node',
      (exchange) => exchange.respond(ok, Buffer.alloc(exchange.request.path === '/large' ? 3_000_000 : 10, 'x')),
      { tls: anyCertificate(t) },
    )
    const session = await openSession(t, port)
    const slow = session.request({ ':path': '/large' })
    slow.pause()
    await once(slow, 'response')
    const small = Array.from({ length: 100 }, () => textOf(session.request({ ':path': '/' })))
    assert.deepEqual(new Set(await Promise.all(small)), new Set(['xxxxxxxxxx']))
    assert.equal((await textOf(slow)).length, 3_000_000)
  })
})
