import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { type WebSocket, WebSocketServer } from 'ws'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { handshakeWith, type NetworkSocket, openSocket } from '../../engine/test/web-socket-client.ts'
import { deadAddress, startRaw } from '../../upstream/test/raw-upstream.ts'
import { type ProxyServer, startProxy } from './proxy-server.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']
/** As many as an engine takes that cannot stop its client. */
const PIECES = 100
const PASSED_ON = 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";'

/** An upstream that speaks WebSocket. */
interface Upstream {
  readonly address: string
  readonly sockets: WebSocket[]
  readonly requests: IncomingMessage[]
  /** Of all sockets. */
  readonly messages: readonly string[]
}

interface UpstreamOptions {
  readonly chooses?: (offered: ReadonlySet<string>) => string | false
  readonly refuses?: (socket: Socket) => void
  /** Answers when `open` is called. */
  readonly holds?: (open: () => void) => void
  readonly fields?: readonly string[]
}

async function startUpstream(t: TestContext, { chooses, refuses, holds, fields = [] }: UpstreamOptions = {}): Promise<Upstream> {
  const server = createServer((_request, response) => response.end('plain'))
  const hub = new WebSocketServer({
    noServer: true,
    perMessageDeflate: true,
    ...(chooses === undefined ? {} : { handleProtocols: chooses }),
  })
  const sockets: WebSocket[] = []
  const requests: IncomingMessage[] = []
  const messages: string[] = []
  hub.on('headers', (headers) => headers.push(...fields))
  server.on('upgrade', (request, socket: Socket, head: Buffer) => {
    requests.push(request)
    const open = () =>
      hub.handleUpgrade(request, socket, head, (opened) => {
        sockets.push(opened)
        opened.on('message', (data: Buffer) => messages.push(data.toString()))
      })
    if (refuses !== undefined) refuses(socket)
    else if (holds !== undefined) holds(open)
    else open()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.terminate()
    server.closeAllConnections()
    server.close()
  })
  const bound = server.address()
  return { address: `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`, sockets, requests, messages }
}

interface Bridge {
  readonly server: ProxyServer
  readonly client: NetworkSocket
  readonly upstream: WebSocket
}

async function bridge(t: TestContext, engine: EngineName, up: Upstream, protocols: readonly string[] = []): Promise<Bridge> {
  const server = await startProxy(t, `location / { proxy_pass http://${up.address}; ${PASSED_ON} }`, { engine })
  const client = await openSocket(`ws://127.0.0.1:${server.port}/chat%20room?a=b`, protocols)
  assert.ok(typeof client === 'object')
  t.after(() => client.webSocket.terminate())
  const upstream = await waitFor('the socket of the upstream', () => up.sockets.at(-1))
  return { server, client, upstream }
}

function closing(socket: WebSocket): Promise<readonly [number, string]> {
  return new Promise((resolve) => socket.once('close', (code, reason) => resolve([code, reason.toString()])))
}

function nextMessage(socket: WebSocket): Promise<readonly [string, boolean]> {
  return new Promise((resolve) => socket.once('message', (data: Buffer, isBinary) => resolve([data.toString(), isBinary])))
}

for (const engine of engineNames) {
  test(`${engine}: messages go both ways, as text and as bytes`, async (t) => {
    const { client, upstream } = await bridge(t, engine, await startUpstream(t))
    for (const [data, isBinary] of [
      ['hello', false],
      ['', false],
      ['grüße', false],
      ['x'.repeat(100_000), true],
    ] as const) {
      const arrived = nextMessage(upstream)
      client.send(Buffer.from(data), isBinary)
      assert.deepEqual(await arrived, [data, isBinary])
      upstream.send(data, { binary: isBinary })
      const back = await client.next()
      assert.deepEqual([Buffer.from(back.data).toString(), back.isBinary], [data, isBinary])
    }
  })

  test(`${engine}: the upstream sees the request as it was, and chooses the subprotocol`, async (t) => {
    const up = await startUpstream(t, { chooses: () => 'b', fields: ['Set-Cookie: a=b', 'Set-Cookie: SVC_ADMIN=x', 'X-Up: 1'] })
    const { client } = await bridge(t, engine, up, ['a', 'b'])
    const [request] = up.requests
    assert.equal(request?.url, '/chat%20room?a=b')
    assert.equal(request?.headers.host, up.address)
    assert.equal(request?.headers['sec-websocket-protocol'], 'a,b')
    assert.equal(client.protocol, 'b')
    assert.equal(client.fields['x-up'], '1')
    assert.deepEqual(client.fields['set-cookie'], ['a=b'])
  })

  test(`${engine}: the answer that agrees has the fields that the location hides and adds as any other`, async (t) => {
    const up = await startUpstream(t, { fields: ['Server: inner', 'X-Secret: 1', 'X-Up: 1'] })
    const fields = 'proxy_hide_header X-Secret; add_header X-Added 1 always; add_header X-Of-Good 1;'
    const server = await startProxy(t, `location / { proxy_pass http://${up.address}; ${fields} ${PASSED_ON} }`, { engine })
    const client = await openSocket(`ws://127.0.0.1:${server.port}/`)
    assert.ok(typeof client === 'object')
    t.after(() => client.webSocket.terminate())
    const { 'x-secret': secret, 'x-up': up1, 'x-added': added, 'x-of-good': ofGood, server: name } = client.fields
    assert.deepEqual([secret, up1, added, ofGood], [undefined, '1', '1', undefined])
    assert.notEqual(name, 'inner')
  })

  test(`${engine}: a client that leaves before the upstream has agreed takes its wish with it`, async (t) => {
    const up = await startRaw(t, () => undefined)
    const server = await startProxy(t, `location / { proxy_pass http://${up.address}; ${PASSED_ON} }`, { engine })
    const asked = request({ port: server.port, host: '127.0.0.1', headers: handshakeWith({}), agent: false })
    asked.on('error', () => undefined)
    asked.end()
    const waiting = await waitFor('the upstream to be asked', () => up.connections[0])
    await waiting.seen('\r\n\r\n')
    asked.destroy()
    await waiting.closed()
  })

  test(`${engine}: an upstream may choose no subprotocol`, async (t) => {
    const up = await startUpstream(t, { chooses: () => false })
    const server = await startProxy(t, `location / { proxy_pass http://${up.address}; ${PASSED_ON} }`, { engine })
    // The client of the test, like a browser, takes no answer without one for good: what counts is that it is asked.
    await assert.rejects(openSocket(`ws://127.0.0.1:${server.port}/`, ['a']), /no subprotocol/)
    assert.equal(up.requests.length, 1)
  })

  for (const [code, reason] of [
    [1000, 'done'],
    [1001, 'away'],
    [3000, 'own'],
    [4999, 'end'],
  ] as const) {
    test(`${engine}: a close with ${code} reaches the other side`, async (t) => {
      const up = await startUpstream(t)
      // uWebSockets.js takes codes from 1012 to 3999 for a broken frame.
      if (engine !== 'uws' || code !== 3000) {
        const first = await bridge(t, engine, up)
        const seen = closing(first.upstream)
        first.client.close(code, reason)
        assert.deepEqual(await seen, [code, reason])
      }
      const second = await bridge(t, engine, up)
      second.upstream.close(code, reason)
      assert.deepEqual(await second.client.closed, [code, reason])
    })
  }

  test(`${engine}: a close without a code stays one`, async (t) => {
    const up = await startUpstream(t)
    const first = await bridge(t, engine, up)
    const seen = closing(first.upstream)
    first.client.webSocket.close()
    assert.equal((await seen)[0], 1005)
    const second = await bridge(t, engine, up)
    second.upstream.close()
    assert.equal((await second.client.closed)[0], 1005)
  })

  test(`${engine}: an upstream that dies is a broken connection, a client that dies too`, async (t) => {
    const up = await startUpstream(t)
    const first = await bridge(t, engine, up)
    first.upstream.terminate()
    assert.equal((await first.client.closed)[0], 1006)
    const second = await bridge(t, engine, up)
    const seen = closing(second.upstream)
    second.client.vanish()
    assert.equal((await seen)[0], 1006)
  })

  test(`${engine}: an upstream that breaks the protocol is a bad gateway`, async (t) => {
    const { client, upstream } = await bridge(t, engine, await startUpstream(t))
    const { _socket: raw } = upstream as unknown as { _socket: Socket }
    raw.write(Buffer.from([0xff, 0xff, 0xff]))
    assert.equal((await client.closed)[0], 1014)
  })

  test(`${engine}: the response of an upstream that declines the upgrade reaches the client`, async (t) => {
    const up = await startUpstream(t, {
      refuses: (socket) =>
        socket.end('HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nX-Why: w\r\n\r\nno'),
    })
    const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; ${PASSED_ON} }`, { engine })
    assert.equal(await openSocket(`ws://127.0.0.1:${port}/`), 403)
  })

  test(`${engine}: an upstream that is unreachable, or sends an invalid response, is 502`, async (t) => {
    const up = await startUpstream(t, { refuses: (socket) => socket.end('nonsense\r\n\r\n') })
    const dead = await deadAddress()
    const directives = `location / { proxy_pass http://${up.address}; ${PASSED_ON} } location /dead { proxy_pass http://${dead}; ${PASSED_ON} }`
    const { port } = await startProxy(t, directives, { engine })
    assert.equal(await openSocket(`ws://127.0.0.1:${port}/`), 502)
    assert.equal(await openSocket(`ws://127.0.0.1:${port}/dead`), 502)
  })

  test(`${engine}: the next server of a group is tried when one is unreachable`, async (t) => {
    const up = await startUpstream(t)
    const outside = `upstream both { server ${await deadAddress()}; server ${up.address}; }`
    const { port } = await startProxy(t, `location / { proxy_pass http://both; ${PASSED_ON} }`, { engine, outside })
    const client = await openSocket(`ws://127.0.0.1:${port}/`)
    assert.ok(typeof client === 'object')
    client.close(1000)
    await client.closed
  })

  test(`${engine}: without the fields of nginx it is a request like any other`, async (t) => {
    const up = await startUpstream(t)
    const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; }`, { engine })
    assert.equal(await openSocket(`ws://127.0.0.1:${port}/`), 200)
    assert.equal(up.requests.length, 0)
  })

  test(`${engine}: a client that does not read holds up the upstream, one after the other`, async (t) => {
    const { client, upstream } = await bridge(t, engine, await startUpstream(t))
    client.pause()
    const piece = Buffer.alloc(256 * 1024)
    let sent = 0
    const fill = () => {
      while (upstream.bufferedAmount < 4 * piece.byteLength && sent < 400) {
        upstream.send(piece)
        sent++
      }
    }
    // Sent until nothing more is taken: far less than all of it.
    await waitFor('the upstream to be held up', async () => {
      fill()
      const before = upstream.bufferedAmount
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
      return sent >= 400 || (before > 0 && upstream.bufferedAmount === before)
    })
    assert.ok(sent < 300, `${sent} pieces were taken`)
    client.resume()
    for (let received = 0; received < sent; received++) assert.equal((await client.next()).data.byteLength, piece.byteLength)
  })

  test(`${engine}: an upstream that does not read holds up the client`, async (t) => {
    const { client, upstream } = await bridge(t, engine, await startUpstream(t))
    upstream.pause()
    const piece = Buffer.alloc(256 * 1024)
    let sent = 0
    await waitFor('the client to be held up', async () => {
      while (client.webSocket.bufferedAmount < 4 * piece.byteLength && sent < PIECES) {
        client.send(piece, true)
        sent++
      }
      const before = client.webSocket.bufferedAmount
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
      return sent >= PIECES || (before > 0 && client.webSocket.bufferedAmount === before)
    })
    let received = 0
    upstream.on('message', () => {
      received++
    })
    upstream.resume()
    await waitFor('all that was sent', () => received === sent)
  })

  test(`${engine}: two ends that say nothing for too long are cut`, async (t) => {
    const up = await startUpstream(t)
    const directives = `location / { proxy_pass http://${up.address}; ${PASSED_ON} proxy_read_timeout 1s; }`
    const { port } = await startProxy(t, directives, { engine })
    const client = await openSocket(`ws://127.0.0.1:${port}/`)
    assert.ok(typeof client === 'object')
    const upstream = await waitFor('the socket of the upstream', () => up.sockets[0])
    assert.deepEqual(
      await Promise.all([client.closed.then(([code]) => code), closing(upstream).then(([code]) => code)]),
      [1006, 1006],
    )
  })

  test(`${engine}: a server that drains says goodbye to both`, async (t) => {
    const { server, client, upstream } = await bridge(t, engine, await startUpstream(t))
    const seen = closing(upstream)
    const drained = server.engine.drain(60_000)
    assert.equal((await client.closed)[0], 1001)
    assert.equal((await seen)[0], 1001)
    await drained
  })
}

// To uWebSockets.js it is another request, for which it closes the connection.
test('node: messages of a client are not lost before the upstream accepts', async (t) => {
  const held = Promise.withResolvers<() => void>()
  const up = await startUpstream(t, { holds: (open) => held.resolve(open) })
  const server = await startProxy(t, `location / { proxy_pass http://${up.address}; ${PASSED_ON} }`, { engine: 'node' })
  const socket = connect(server.port, '127.0.0.1')
  t.after(() => socket.destroy())
  const fields = Object.entries(handshakeWith({ host: 'a.test' })).map(([name, value]) => `${name}: ${value}\r\n`)
  const hello = (text: string) => Buffer.concat([Buffer.from([0x81, 0x80 + text.length, 0, 0, 0, 0]), Buffer.from(text)])
  socket.write(`GET / HTTP/1.1\r\n${fields.join('')}\r\n`)
  const open = await held.promise
  socket.write(hello('one'))
  socket.write(hello('two'))
  open()
  await waitFor('both messages', () => up.messages.length === 2)
  assert.deepEqual(up.messages, ['one', 'two'])
})
