import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { WebSocketEvents, WebSocketPeer } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { WebSocket } from 'ws'
import { IDLE_TIMEOUT_SECONDS, MAX_UNACKED_BYTES } from '../../http/src/exchange/web-socket-rules.ts'
import { type ContractSocket, echo, webSocketContract } from './engine-websocket-contract.ts'
import { inject, injectWebSocket } from './inject/index.ts'
import { type EngineName, startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'
import { handshakeWith, networkSubject, openSocket } from './web-socket-client.ts'

const unheard: WebSocketEvents = { message: () => undefined, drained: () => undefined, closed: () => undefined }
const engineNames: readonly EngineName[] = ['uws', 'node']

for (const name of engineNames) {
  webSocketContract(name, async (t, handler) => {
    const { port, engine, problems } = await startEngine(t, name, handler)
    return networkSubject(port, engine, problems)
  })

  test(`${name}: fragments are one message, and pings are answered in between`, async (t) => {
    const { port } = await startEngine(t, name, echo)
    const socket = await openSocket(`ws://127.0.0.1:${port}/`)
    assert.ok(typeof socket === 'object')
    const { webSocket } = socket
    const pong = once(webSocket, 'pong')
    webSocket.send('one, ', { fin: false })
    webSocket.ping('are you there')
    webSocket.send('two, ', { fin: false })
    webSocket.send('three', { fin: true })
    assert.equal(String((await pong)[0]), 'are you there')
    const { data, isBinary } = await socket.next()
    assert.deepEqual([Buffer.from(data).toString(), isBinary], ['one, two, three', false])
    socket.close(1000)
    await socket.closed
  })

  test(`${name}: a handshake with a body is a request with a body, not the beginning of messages`, async (t) => {
    const { port } = await startEngine(t, name, (exchange) => {
      assert.equal(exchange.webSocket, undefined)
      exchange.body.read(
        (chunk, ack) => {
          ack()
          exchange.respond({ status: 200, headers: [] }, chunk.slice())
        },
        () => undefined,
      )
    })
    const handshake =
      'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=='
    const length = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${handshake}\r\nContent-Length: 4\r\n\r\nbody`)
    const chunks = Buffer.from(
      `GET / HTTP/1.1\r\nHost: a\r\n${handshake}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
    )
    for (const bytes of [length, chunks]) {
      const socket = connect({ port, host: '127.0.0.1' })
      t.after(() => socket.destroy())
      let text = ''
      socket.on('data', (data: Buffer) => {
        text += data.toString('latin1')
      })
      socket.write(bytes)
      await waitFor('the answer', () => text.includes('\r\n\r\n'))
      assert.match(text, /^HTTP\/1.1 200 /)
      await waitFor('its body', () => text.endsWith('\r\n\r\nbody'))
    }
  })

  test(`${name}: text that is not UTF-8 closes the connection`, async (t) => {
    const { port } = await startEngine(t, name, echo)
    const socket = await openSocket(`ws://127.0.0.1:${port}/`)
    assert.ok(typeof socket === 'object')
    socket.send(Buffer.from([0xc3, 0x28]), false)
    assert.ok([1006, 1007].includes((await socket.closed)[0]))
  })

  test(`${name}: messages that a client sends before the response are not lost`, async (t) => {
    const { port } = await startEngine(t, name, (exchange) => setImmediate(() => setImmediate(() => echo(exchange))))
    const socket = await openSocket(`ws://127.0.0.1:${port}/`)
    assert.ok(typeof socket === 'object')
    socket.send(Buffer.from('first'), false)
    assert.equal(Buffer.from((await socket.next()).data).toString(), 'first')
    socket.close(1000)
    await socket.closed
  })
}

test('uws: a listener that never acknowledges loses the connection eventually', async (t) => {
  const { port } = await startEngine(t, 'uws', (exchange) => {
    exchange.webSocket?.accept({}, unheard)
  })
  const socket = await openSocket(`ws://127.0.0.1:${port}/`)
  assert.ok(typeof socket === 'object')
  const piece = Buffer.alloc(8 * 1024 * 1024)
  for (let sent = 0; sent <= MAX_UNACKED_BYTES; sent += piece.byteLength) socket.send(piece, true)
  assert.deepEqual(await socket.closed, [1013, 'too much data is waiting to be sent'])
})

test('node: a listener that never acknowledges is not given more than the connection holds', async (t) => {
  let bytes = 0
  let peer: WebSocketPeer | undefined
  const { port } = await startEngine(t, 'node', (exchange) => {
    const message = (data: Uint8Array) => {
      bytes += data.byteLength
    }
    peer = exchange.webSocket?.accept({}, { message, drained: () => undefined, closed: () => undefined })
  })
  const socket = await openSocket(`ws://127.0.0.1:${port}/`)
  assert.ok(typeof socket === 'object')
  for (let at = 0; at < 100; at++) socket.send(Buffer.alloc(1024 * 1024), true)
  await waitFor('messages', () => bytes > 0)
  // The other direction still works, and what it says comes behind everything that could be read.
  peer?.send(Buffer.from('still here'), false)
  assert.equal(Buffer.from((await socket.next()).data).toString(), 'still here')
  assert.ok(bytes < 20 * 1024 * 1024, `${bytes} bytes were read`)
  assert.ok(socket.webSocket.bufferedAmount > 0)
  socket.vanish()
})

test('node: frames that are not masked end the connection', async (t) => {
  const { port } = await startEngine(t, 'node', echo)
  const socket = await openSocket(`ws://127.0.0.1:${port}/`)
  assert.ok(typeof socket === 'object')
  socket.webSocket.send('bare', { mask: false })
  assert.ok([1002, 1006].includes((await socket.closed)[0]))
})

test('node: a client that answers no ping is cut, one that does is not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { port } = await startEngine(t, 'node', echo)
  const dead = new WebSocket(`ws://127.0.0.1:${port}/`, { autoPong: false })
  await once(dead, 'open')
  const cut = once(dead, 'close')
  const live = await openSocket(`ws://127.0.0.1:${port}/`)
  assert.ok(typeof live === 'object')
  const pinged = [once(dead, 'ping'), once(live.webSocket, 'ping')]
  t.mock.timers.tick((IDLE_TIMEOUT_SECONDS / 2) * 1000)
  await Promise.all(pinged)
  // The answer to the ping goes before the message, and so has come when that comes back.
  live.send(Buffer.from('here'), false)
  await live.next()
  t.mock.timers.tick((IDLE_TIMEOUT_SECONDS / 2) * 1000)
  assert.equal((await cut)[0], 1006)
  live.send(Buffer.from('still here'), false)
  await live.next()
  live.close(1000)
  await live.closed
})

test('node: a handshake behind a request that is pending is a request like any other', async (t) => {
  const offers: unknown[] = []
  const { port } = await startEngine(t, 'node', (exchange) => {
    offers.push(exchange.webSocket === undefined)
    setImmediate(() => exchange.respond({ status: 200, headers: [] }, Buffer.from('answered')))
  })
  const lines = Object.entries(handshakeWith({})).map(([name, value]) => `${name}: ${value}`)
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString()
  })
  socket.write(['GET / HTTP/1.1', 'Host: a', '', 'GET / HTTP/1.1', 'Host: a', ...lines, '', ''].join('\r\n'))
  await waitFor('both answers', () => text.split('answered').length === 3)
  assert.deepEqual(offers, [true, true])
  socket.destroy()
})

test('node: a WebSocket over TLS', async (t) => {
  const { port } = await startEngine(t, 'node', echo, { tls: anyCertificate(t) })
  const webSocket = new WebSocket(`wss://127.0.0.1:${port}/`, { rejectUnauthorized: false })
  await once(webSocket, 'open')
  webSocket.send('secret')
  assert.equal(String((await once(webSocket, 'message'))[0]), 'secret')
  webSocket.close(1000)
  await once(webSocket, 'close')
})

webSocketContract('inject', async (_t, handler) => {
  const problems: Error[] = []
  const onProblem = (problem: Error) => problems.push(problem)
  return {
    engine: undefined,
    problems,
    handshake: async (fields) => {
      const headers = handshakeWith(fields)
      const isWhole = !Object.values(fields).includes(undefined)
      const answer = isWhole
        ? await injectWebSocket(handler, { url: '/socket', headers, onProblem, events: unheard })
        : await inject(handler, { url: '/socket', headers, onProblem })
      assert.ok('status' in answer, 'a WebSocket was granted')
      return answer
    },
    open: (protocols = []) => openInMemory(handler, protocols, onProblem),
  }
})

async function openInMemory(
  handler: Parameters<typeof injectWebSocket>[0],
  protocols: readonly string[],
  onProblem: (problem: Error) => void,
): Promise<ContractSocket | number> {
  const messages: { data: Uint8Array; isBinary: boolean }[] = []
  const acks: (() => void)[] = []
  let isPaused = false
  let wanted: (() => void) | undefined
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<[number, string]>()
  const events: WebSocketEvents = {
    message: (data, isBinary, ack) => {
      messages.push({ data, isBinary })
      if (isPaused) acks.push(ack)
      else ack()
      wanted?.()
    },
    drained: () => undefined,
    closed: (code, reason) => onClosed([code, reason]),
  }
  const granted = await injectWebSocket(handler, { url: '/socket', protocols, events, onProblem })
  if ('status' in granted) return granted.status
  const { peer, protocol, headerList } = granted
  return {
    protocol,
    fields: Object.fromEntries(headerList.map(([name, value]) => [name.toLowerCase(), value])),
    closed,
    send: (data, isBinary) => void peer.send(data, isBinary),
    close: (code = 1005, reason = '') => peer.close(code, reason),
    vanish: () => peer.terminate(),
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
      for (const ack of acks.splice(0)) ack()
    },
    next: async () => {
      while (messages.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wanted = resolve
        await promise
      }
      return messages.shift() ?? { data: Buffer.alloc(0), isBinary: false }
    },
  }
}
