import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { type WebSocket, WebSocketServer } from 'ws'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { handshakeWith, openSocket } from '../../engine/test/web-socket-client.ts'
import { type RawConnection, startRaw } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']
const PASSED_ON = 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";'

/** An upstream that agrees to every WebSocket. */
async function startAgreeing(t: TestContext): Promise<{ readonly address: string; readonly sockets: readonly WebSocket[] }> {
  const server = createServer()
  const hub = new WebSocketServer({ noServer: true })
  const sockets: WebSocket[] = []
  server.on('upgrade', (asked, socket: Socket, rest: Buffer) =>
    hub.handleUpgrade(asked, socket, rest, (opened) => sockets.push(opened)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.terminate()
    server.close()
  })
  const bound = server.address()
  return { address: `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`, sockets }
}

/** Failures of a server in place of an upgrade, with their names in `proxy_next_upstream`. */
const FAULTS: readonly (readonly [name: string, word: string, act: (connection: RawConnection) => void])[] = [
  ['closes the connection', 'error', (connection) => connection.socket.destroy()],
  ['says nothing', 'timeout', () => undefined],
  ['speaks another protocol', 'invalid_header', (connection) => connection.send('nonsense\r\n\r\n')],
  [
    'accepts a protocol that was not requested',
    'invalid_header',
    (connection) => connection.send('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
  ],
  [
    'sends interim answers without end',
    'invalid_header',
    (connection) => connection.send('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)),
  ],
  ['is busy', 'http_503', (connection) => connection.send('HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy')],
]

for (const engine of engineNames) {
  for (const [name, word, act] of FAULTS) {
    test(`${engine}: the next server is tried after a server ${name}, if the location says so`, async (t) => {
      const bad = await startRaw(t, act)
      const good = await startRaw(t, (connection) => connection.send("HTTP/1.1 418 I'm good\r\nContent-Length: 0\r\n\r\n"))
      const outside = `upstream both { server ${bad.address} max_fails=0; server ${good.address} backup; }`
      const directives = `${PASSED_ON} ${word === 'timeout' ? 'proxy_read_timeout 100ms;' : ''}
        location / { proxy_pass http://both; proxy_next_upstream off; }
        location /next { proxy_pass http://both; proxy_next_upstream ${word}; }`
      const { port } = await startProxy(t, directives, { engine, outside })
      const statuses: Readonly<Record<string, number>> = { timeout: 504, http_503: 503 }
      assert.equal(await openSocket(`ws://127.0.0.1:${port}/`), statuses[word] ?? 502)
      assert.equal(good.connections.length, 0)
      const status = await openSocket(`ws://127.0.0.1:${port}/next`)
      assert.match(good.connections[0]?.received ?? '', /^GET \/next HTTP\/1\.1\r\n/)
      // The next one has no more time than the first.
      if (word !== 'timeout') assert.equal(status, 418)
      await Promise.all(bad.connections.map((connection) => connection.closed()))
    })
  }

  test(`${engine}: an answer in place of agreeing that stops is cut, without fields of its connection`, async (t) => {
    const up = await startRaw(t, (connection) =>
      connection.send('HTTP/1.1 403 No\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 10\r\n\r\nhalf'),
    )
    const directives = `location / { proxy_pass http://${up.address}; ${PASSED_ON} proxy_read_timeout 1s; }`
    const { port } = await startProxy(t, directives, { engine })
    const asked = request({ port, host: '127.0.0.1', path: '/', headers: handshakeWith({ host: 'a.test' }), agent: false })
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 403)
    assert.equal(response.headers['x-hop'], undefined)
    assert.equal(response.headers['x-end'], '2')
    await assert.rejects(async () => {
      for await (const chunk of response) assert.equal(String(chunk), 'half')
    }, /aborted/)
    await up.connections[0]?.closed()
  })

  test(`${engine}: a client that sends pings has them reach the upstream`, async (t) => {
    const up = await startAgreeing(t)
    const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; ${PASSED_ON} }`, { engine })
    const client = await openSocket(`ws://127.0.0.1:${port}/`)
    assert.ok(typeof client === 'object')
    t.after(() => client.webSocket.terminate())
    const upstream = await waitFor('the socket of the upstream', () => up.sockets[0])
    const pinged = once(upstream, 'ping')
    const answered = once(client.webSocket, 'pong')
    client.webSocket.ping()
    await Promise.all([pinged, answered])
  })
}
