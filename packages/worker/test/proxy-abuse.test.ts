import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import type { Cleanup } from '@svc/testkit'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { startRaw } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']

/** Sends a request and gives all that comes until its answer ends, which says "done" then, or until the connection closes. */
async function ask(t: Cleanup, port: number, head: string, body = ''): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  t.after(() => socket.destroy())
  let text = ''
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1')
    if (text.endsWith('done') || text.endsWith('\r\n0\r\n\r\n')) resolve()
  })
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`
  socket.write(`${head}\r\nHost: a.test\r\n${length}\r\n${body}`)
  await Promise.race([promise, once(socket, 'close')])
  return text
}

const answer = (fields = '') => `HTTP/1.1 200 OK\r\n${fields}Content-Length: 4\r\n\r\ndone`

for (const engine of engineNames) {
  test(`${engine}: a client cannot say by odd names what the location says, nor pass fields of its connection`, async (t) => {
    const up = await startRaw(t, (connection) => connection.send(answer()))
    const set = 'proxy_set_header X-Real-IP $remote_addr; proxy_set_header Cookie $http_cookie;'
    const { port } = await startProxy(t, `location / { ${set} proxy_pass http://${up.address}; }`, { engine })
    const lines = [
      'GET / HTTP/1.1',
      'X_Real_IP: 6.6.6.6',
      'X_Forwarded_Host: evil.test',
      'X.Forwarded.For: 6.6.6.6',
      'Connection: keep-alive',
      'Connection: X-First, x-second',
      'X-First: 1',
      'X-Second: 2',
      'HTTP2-Settings: AAMAAABk',
      'X-Third: 3',
      'Cookie: SVC_ADMIN=token; a=b',
    ]
    assert.match(await ask(t, port, lines.join('\r\n')), /^HTTP\/1\.1 200 /)
    const received = up.connections[0]?.received ?? assert.fail('the upstream was not asked')
    assert.match(received, /\r\nx-real-ip: 127\.0\.0\.1\r\n/)
    assert.match(received, /\r\nx-third: 3\r\n/)
    assert.match(received, /\r\ncookie: a=b\r\n/)
    assert.doesNotMatch(received, /6\.6\.6\.6|evil|x-first|x-second|http2-settings|SVC_ADMIN/i)
  })

  test(`${engine}: an upstream neither sets nor clears the cookie of the service`, async (t) => {
    const cookies = ['a=1', 'SVC_ADMIN=stolen', ' svc_admin=; Max-Age=0'].map((value) => `Set-Cookie: ${value}\r\n`).join('')
    const up = await startRaw(t, (connection) => connection.send(answer(cookies)))
    const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; }`, { engine })
    const received = await ask(t, port, 'GET / HTTP/1.1')
    assert.match(received, /^HTTP\/1\.1 200 [\s\S]*\r\nset-cookie: a=1\r\n/i)
    assert.doesNotMatch(received, /svc_admin/i)
  })

  test(`${engine}: a request behind one with a body goes safely to another upstream`, async (t) => {
    const up = await startRaw(t, (connection, request) => {
      if (request.includes(' /broken')) connection.socket.destroy()
      else connection.send(answer(request.includes(' /led ') ? 'X-Accel-Redirect: /inside?a=b\r\n' : ''))
    })
    const there = `proxy_pass http://${up.address};`
    const other = await startRaw(t, (connection) => connection.send(answer('X-By: other\r\n')))
    const { port } = await startProxy(
      t,
      `location /led { ${there} }
       location /inside { internal; ${there} }
       location /broken { error_page 502 = @fallback; ${there} }
       location @fallback { proxy_pass http://${other.address}; }`,
      { engine },
    )
    assert.match(await ask(t, port, 'POST /led HTTP/1.1', 'body'), /^HTTP\/1\.1 200 /)
    const received = () => up.connections.map((connection) => connection.received).join('')
    assert.match(received(), /GET \/inside\?a=b HTTP/)
    assert.match(await ask(t, port, 'POST /broken HTTP/1.1\r\nConnection: close', 'body'), /^HTTP\/1\.1 200 .*x-by: other/is)
    assert.match(other.connections[0]?.received ?? '', /^POST \/broken HTTP.*\r\ncontent-length: 4\r\n.*\r\n\r\nbody$/is)
    // More than is kept of a body: it cannot be sent twice.
    const long = 'x'.repeat(100_000)
    assert.match(await ask(t, port, 'POST /broken HTTP/1.1\r\nConnection: close', long), /^HTTP\/1\.1 502 /)
    // The server is still there.
    assert.match(await ask(t, port, 'GET /led HTTP/1.1'), /^HTTP\/1\.1 200 /)
  })

  test(`${engine}: fields behind a body that may not be written do not keep the answer from its end`, async (t) => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n'
    const up = await startRaw(t, (connection) => connection.send(`${chunked}x-a: a\x01b\r\nhttp2-settings: q\r\nx-b: c\r\n\r\n`))
    const { port } = await startProxy(t, `location / { proxy_http_version 1.1; proxy_pass http://${up.address}; }`, { engine })
    const text = await ask(t, port, 'GET / HTTP/1.1\r\nTE: trailers\r\nConnection: TE, close')
    // Engine uws has no trailers, and gives the length where all of a last response is there at once.
    assert.match(text, engine === 'node' ? /0\r\nx-b: c\r\n\r\n$/i : /\r\nContent-Length: 4\r\n\r\nbody$/)
  })
}

for (const engine of engineNames) {
  test(`${engine}: a client that stalls is cut after the times of its location`, async (t) => {
    const { promise: upstreamClosed, resolve } = Promise.withResolvers<void>()
    const upstream = createServer((request, response) => {
      const chunk = Buffer.alloc(64 * 1024)
      const pump = () => {
        while (response.write(chunk));
      }
      if (request.method === 'GET') response.on('close', resolve)
      response.on('drain', pump)
      request.resume().on('end', pump)
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    t.after(() => {
      upstream.closeAllConnections()
      upstream.close()
    })
    const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`
    const times = 'client_body_timeout 500ms; send_timeout 500ms;'
    const { port } = await startProxy(t, `location / { ${times} proxy_pass http://${address}; }`, { engine })
    const reader = connect({ port, host: '127.0.0.1' })
    t.after(() => reader.destroy())
    reader.on('error', () => reader.destroy())
    reader.pause()
    reader.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    // The rest of the body never comes.
    const [statusLine = ''] = (await ask(t, port, 'POST / HTTP/1.1\r\nContent-Length: 10')).split('\r\n')
    assert.match(statusLine, /^(?:HTTP\/1\.1 408 .*)?$/)
    await upstreamClosed
  })
}
