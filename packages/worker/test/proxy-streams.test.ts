// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict'
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@svc/testkit'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { deadAddress, startRaw } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']
const MB = 1024 * 1024

interface Answer {
  readonly response: IncomingMessage
  readonly asked: ClientRequest
}

/** Sends a request and waits for the head of its answer. */
function open(port: number, options: RequestOptions = {}, body?: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const asked = request({
    host: '127.0.0.1',
    port,
    path: '/',
    agent: false,
    ...options,
    headers: { host: 'a.test', ...options.headers },
  })
  asked.on('response', (response) => resolve({ response, asked }))
  asked.on('error', reject)
  asked.end(body)
  return promise
}

async function textOf({ response }: Answer): Promise<string> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}

/** An upstream on node:http, and a server in front of it. */
async function behind(t: TestContext, engine: EngineName, onRequest: (asked: IncomingMessage, answer: ServerResponse) => void) {
  const upstream = createServer(onRequest)
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const bound = upstream.address()
  const address = `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`
  return startProxy(t, `client_max_body_size 0; location / { proxy_pass http://${address}; }`, { engine })
}

for (const engine of engineNames) {
  test(`${engine}: an upstream that cannot be reached is 502, one that is late is 504`, async (t) => {
    const late = await startRaw(t, () => undefined)
    const dead = await deadAddress()
    const { port, failures } = await startProxy(
      t,
      `location / { proxy_pass http://${dead}; } location /late { proxy_pass http://${late.address}; proxy_read_timeout 50ms; }`,
      { engine },
    )
    assert.equal((await open(port)).response.statusCode, 502)
    assert.equal((await open(port, { path: '/late' })).response.statusCode, 504)
    assert.match(failures[0] ?? '', /^502 cannot connect to /)
    assert.match(failures[1] ?? '', /^504 .* no response in 50 ms$/)
  })

  test(`${engine}: an answer that breaks off is cut, not ended`, async (t) => {
    for (const framing of ['Content-Length: 20\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const up = await startRaw(t, (connection) => {
        connection.send(`HTTP/1.1 200 OK\r\n${framing}\r\n5\r\nhello\r\n`)
        connection.socket.end()
      })
      const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; }`, { engine })
      await assert.rejects(open(port).then(textOf))
    }
  })

  test(`${engine}: events are passed on one by one, uncompressed or with a flush for each`, async (t) => {
    let answer: ServerResponse | undefined
    const { port } = await behind(t, engine, (_asked, response) => {
      answer = response
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      response.write('data: 0\n\n')
    })
    const { response } = await open(port, { headers: { accept: 'text/event-stream' } })
    let text = ''
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    for (let i = 1; i < 5; i++) {
      await waitFor(`event ${i - 1}`, () => text.endsWith(`data: ${i - 1}\n\n`))
      answer?.write(`data: ${i}\n\n`)
    }
    answer?.end()
    await waitFor('the end', () => response.complete)
  })

  for (const framing of ['Content-Length: 4', 'Transfer-Encoding: chunked', 'Connection: close']) {
    // uWebSockets.js ends the head of an answer of unknown length with its first byte.
    if (engine === 'uws' && !framing.includes('Length')) continue
    for (const buffering of ['on', 'off']) {
      test(`${engine}: a head comes before its body, with ${framing} and proxy_buffering ${buffering}`, async (t) => {
        const up = await startRaw(t, (connection) => connection.send(`HTTP/1.1 200 OK\r\nX-Up: 1\r\n${framing}\r\n\r\n`))
        const directives = `location / { proxy_pass http://${up.address}; proxy_buffering ${buffering}; }`
        const { port } = await startProxy(t, directives, { engine })
        const answer = await open(port)
        assert.equal(answer.response.headers['x-up'], '1')
        up.connections[0]?.send(framing.includes('chunked') ? '4\r\nbody\r\n0\r\n\r\n' : 'body')
        if (framing.includes('close')) up.connections[0]?.socket.end()
        assert.equal(await textOf(answer), 'body')
      })
    }
  }

  test(`${engine}: a client that leaves takes its request with it`, async (t) => {
    let isClosed = false
    const { port } = await behind(t, engine, (asked, response) => {
      response.writeHead(200)
      response.write('begin')
      asked.socket.on('close', () => {
        isClosed = true
      })
    })
    const { response } = await open(port)
    response.destroy()
    await waitFor('the upstream to notice', () => isClosed)
  })

  test(`${engine}: a client that leaves before there is an answer takes its request with it`, async (t) => {
    const up = await startRaw(t, () => undefined)
    const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; }`, { engine })
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await waitFor('the request', () => up.connections.length === 1)
    await up.connections[0]?.seen('GET / ')
    socket.destroy()
    await up.connections[0]?.closed()
  })

  test(`${engine}: a slow client slows the upstream down, and memory stays flat`, async (t) => {
    const total = 200 * MB
    let sent = 0
    const piece = Buffer.alloc(MB, 'x')
    const { port } = await behind(t, engine, (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': total })
      const write = () => {
        while (sent < total) {
          sent += piece.byteLength
          if (!response.write(piece)) {
            response.once('drain', write)
            return
          }
        }
        response.end()
      }
      write()
    })
    const { response } = await open(port)
    await waitFor('the stream to stand still', async () => {
      const before = sent
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
      return sent > 0 && sent === before
    })
    assert.ok(sent < 60 * MB, `${sent} bytes were taken from the upstream`)
    let received = 0
    let peak = 0
    for await (const chunk of response) {
      received += (chunk as Buffer).byteLength
      peak = Math.max(peak, process.memoryUsage().arrayBuffers)
    }
    assert.equal(received, total)
    assert.ok(peak < 150 * MB, `${peak} bytes of buffers`)
  })

  test(`${engine}: a slow upstream slows the client down, and memory stays flat`, async (t) => {
    const total = 200 * MB
    let read = 0
    let reader: IncomingMessage | undefined
    const { port } = await behind(t, engine, (asked, response) => {
      reader = asked
      asked.once('end', () => response.end(String(read)))
    })
    const asked = request({
      host: '127.0.0.1',
      port,
      path: '/',
      method: 'PUT',
      headers: { host: 'a.test', 'content-length': total },
      agent: false,
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      asked.on('response', resolve)
      asked.on('error', reject)
    })
    const piece = Buffer.alloc(MB, 'x')
    let sent = 0
    const write = () => {
      while (sent < total) {
        sent += piece.byteLength
        if (!asked.write(piece)) {
          asked.once('drain', write)
          return
        }
      }
      asked.end()
    }
    write()
    await waitFor('the request', () => reader)
    await waitFor('the upload to stand still', async () => {
      const before = sent
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
      return sent === before
    })
    assert.ok(sent < 80 * MB, `${sent} bytes were taken from the client`)
    let peak = 0
    reader?.on('data', (chunk: Buffer) => {
      read += chunk.byteLength
      peak = Math.max(peak, process.memoryUsage().arrayBuffers)
    })
    const response = await answered
    assert.equal(response.statusCode, 200)
    response.resume()
    assert.equal(read, total)
    assert.ok(peak < 150 * MB, `${peak} bytes of buffers`)
  })

  test(`${engine}: a body without length goes through in chunks`, async (t) => {
    const { port } = await behind(t, engine, (asked, response) => {
      let text = ''
      asked.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      asked.on('end', () => response.end(`${asked.headers['transfer-encoding']} ${text}`))
    })
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const asked = request({ host: '127.0.0.1', port, path: '/', method: 'POST', headers: { host: 'a.test' }, agent: false })
    asked.on('response', (response) => resolve({ response, asked }))
    asked.on('error', reject)
    asked.write('one ')
    asked.end('two')
    assert.equal(await textOf(await promise), 'chunked one two')
  })

  test(`${engine}: an upstream that refuses a body early is heard`, async (t) => {
    const { port } = await behind(t, engine, (_asked, response) => {
      response.writeHead(413, { connection: 'close' })
      response.end('too much')
    })
    const asked = request({
      host: '127.0.0.1',
      port,
      path: '/',
      method: 'PUT',
      headers: { host: 'a.test', 'content-length': 5 * MB },
      agent: false,
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      asked.on('response', resolve)
      asked.on('error', reject)
    })
    asked.write(Buffer.alloc(1000))
    const response = await answered
    assert.equal(response.statusCode, 413)
    asked.destroy()
  })

  test(`${engine}: HEAD, 204 and 304 have no body and keep the connection`, async (t) => {
    const { port } = await behind(t, engine, (asked, response) => {
      const status = Number(asked.url?.slice(1))
      response.writeHead(status, status === 200 ? { 'content-length': 7, etag: '"a"' } : { etag: '"a"' })
      response.end(status === 200 ? 'content' : undefined)
    })
    const socket = connect({ port, host: '127.0.0.1' })
    t.after(() => socket.destroy())
    let text = ''
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
    })
    for (const [index, line] of ['HEAD /200', 'GET /204', 'GET /304', 'GET /200'].entries()) {
      socket.write(`${line} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
      await waitFor(
        `answer ${index}`,
        () => text.split('HTTP/1.1 ').length === index + 2 && text.includes('\r\n\r\n', text.lastIndexOf('HTTP/1.1 ')),
      )
    }
    await waitFor('the body', () => text.endsWith('content'))
    const answers = text.split('HTTP/1.1 ').slice(1)
    assert.deepEqual(
      answers.map((answer) => answer.split('\r\n\r\n')[1]),
      ['', '', '', 'content'],
    )
    assert.match(answers[0] ?? '', /content-length: 7/i)
  })
}

test('node: early hints and trailers reach the client, without the cookie of the service and fields that the location hides', async (t) => {
  const cookie = 'Set-Cookie: SVC_ADMIN=stolen; Path=/__svc/\r\n'
  const up = await startRaw(t, (connection) => {
    connection.send(`HTTP/1.1 103 Early Hints\r\n${cookie}X-Inner: 1\r\nLink: </a.css>; rel=preload\r\n\r\n`)
    connection.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\n')
    connection.send(`${cookie}X-Sum: abc\r\n\r\n`)
  })
  const location = `location / { proxy_pass http://${up.address}; proxy_hide_header X-Inner; }`
  const { port } = await startProxy(t, location, { engine: 'node' })
  const hints: unknown[] = []
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const asked = request({ host: '127.0.0.1', port, path: '/', headers: { host: 'a.test', te: 'trailers' }, agent: false })
  asked.on('information', ({ headers }: { headers: unknown }) => hints.push(headers))
  asked.on('response', resolve)
  asked.on('error', reject)
  asked.end()
  const response = await promise
  assert.equal(await textOf({ response, asked }), 'hello')
  assert.deepEqual(hints, [{ link: '</a.css>; rel=preload' }])
  assert.deepEqual(response.trailers, { 'x-sum': 'abc' })
})
