import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { codeOf } from '@svc/core'
import type { HttpExchange, WebSocketEvents, WebSocketPeer } from '@svc/http'
import { waitFor } from '@svc/testkit'
import type { Engine } from '../src/listener/engine.ts'

/** The client's end. */
export interface ContractSocket {
  readonly protocol: string
  /** Of the 101 response. */
  readonly fields: Readonly<Record<string, string | string[] | undefined>>
  /** Code and reason. */
  readonly closed: Promise<[number, string]>
  send(data: Uint8Array, isBinary: boolean): void
  close(code?: number, reason?: string): void
  vanish(): void
  /** Messages are no longer taken. */
  pause(): void
  resume(): void
  next(): Promise<{ readonly data: Uint8Array; readonly isBinary: boolean }>
}

/** Response to a rejected handshake. */
export interface Handshake {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** An engine under test. */
export interface WebSocketSubject {
  /** undefined: there is no network. */
  readonly engine: Engine | undefined
  readonly problems: Error[]
  open(protocols?: readonly string[]): Promise<ContractSocket | number>
  /** Sends a handshake with these fields in place of good ones; undefined takes one away. */
  handshake(fields: Readonly<Record<string, string | undefined>>): Promise<Handshake>
}

export type StartWebSocketSubject = (t: TestContext, handler: (exchange: HttpExchange) => void) => Promise<WebSocketSubject>

const plain = { status: 200, headers: [['Content-Type', 'text/plain']] } as const
const ignored: WebSocketEvents = { message: (_data, _isBinary, ack) => ack(), drained: () => undefined, closed: () => undefined }

/** Opens, and fails the test where that is declined. */
export async function opened(subject: WebSocketSubject, protocols: readonly string[] = []): Promise<ContractSocket> {
  const socket = await subject.open(protocols)
  assert.ok(typeof socket === 'object', `declined with ${String(socket)}`)
  return socket
}

/** A handler that sends every message back. */
export function echo(exchange: HttpExchange): void {
  const peer: WebSocketPeer | undefined = exchange.webSocket?.accept(
    {},
    {
      ...ignored,
      message: (data, isBinary, ack) => {
        peer?.send(data, isBinary)
        ack()
      },
    },
  )
}

/** Contract of all engines for WebSockets. */
export function webSocketContract(name: string, start: StartWebSocketSubject): void {
  describe(`${name} keeps the contract of WebSockets`, { concurrency: true }, () => {
    handshakeContract(start)
    messageContract(start)
    closeContract(start)
    pressureContract(start)
  })
}

function handshakeContract(start: StartWebSocketSubject): void {
  test('an offer that is not used is answered like any request', async (t) => {
    const subject = await start(t, (exchange) => {
      assert.ok(exchange.webSocket)
      exchange.respond({ status: 404, headers: [] }, Buffer.from('no socket here'))
    })
    const { status, text } = await subject.handshake({})
    assert.deepEqual([status, text], [404, 'no socket here'])
  })

  test('a handshake that is broken is refused before the handler runs', async (t) => {
    let runs = 0
    const subject = await start(t, () => runs++)
    const outdated = await subject.handshake({ 'sec-websocket-version': '8' })
    assert.deepEqual([outdated.status, outdated.headers['sec-websocket-version']], [426, subject.engine && '13'])
    assert.equal((await subject.handshake({ 'sec-websocket-version': undefined })).status, 426)
    assert.equal((await subject.handshake({ 'sec-websocket-key': 'c2hvcnQ=' })).status, 400)
    assert.equal((await subject.handshake({ 'sec-websocket-key': '########################' })).status, 400)
    assert.equal((await subject.handshake({ 'sec-websocket-protocol': 'a, b, a' })).status, 400)
    assert.equal((await subject.handshake({ 'sec-websocket-protocol': 'a/b' })).status, 400)
    assert.equal(runs, 0)
  })

  test('a request that is not a handshake has no offer', async (t) => {
    const subject = await start(t, (exchange) => exchange.respond(plain, Buffer.from(String(exchange.webSocket))))
    for (const fields of [
      { 'sec-websocket-key': undefined },
      { upgrade: 'h2c' },
      { upgrade: undefined, connection: undefined },
      { connection: 'keep-alive' },
    ]) {
      assert.deepEqual([(await subject.handshake(fields)).text], ['undefined'], JSON.stringify(fields))
    }
  })

  test('an exchange is answered or accepted, once', async (t) => {
    const codes: unknown[] = []
    const subject = await start(t, (exchange) => {
      exchange.webSocket?.accept({}, ignored)
      for (const act of [() => exchange.respond(plain), () => exchange.webSocket?.accept({}, ignored)]) {
        try {
          act()
        } catch (error) {
          codes.push(codeOf(error))
        }
      }
    })
    const socket = await opened(subject)
    assert.deepEqual(codes, ['HTTP_MISUSE', 'HTTP_MISUSE'])
    socket.close(1000)
    await socket.closed
  })

  for (const [how, later] of [
    ['in the handler', (act: () => void) => act()],
    ['later', (act: () => void) => void setImmediate(act)],
  ] as const) {
    test(`accepted ${how}, with the protocol and the fields that were chosen`, async (t) => {
      const offered = Promise.withResolvers<unknown>()
      const subject = await start(t, (exchange) => {
        offered.resolve(exchange.webSocket?.protocols)
        const headers = [
          ['X-One', 'eins'],
          ['X-Bad', 'a\r\nX-Injected: 1'],
        ] as const
        later(() => exchange.webSocket?.accept({ protocol: 'second', headers }, ignored))
      })
      const socket = await opened(subject, ['first', 'second'])
      assert.deepEqual(await offered.promise, ['first', 'second'])
      assert.equal(socket.protocol, 'second')
      assert.deepEqual([socket.fields['x-one'], socket.fields['x-injected']], ['eins', undefined])
      assert.equal(socket.fields['sec-websocket-extensions'], undefined)
      assert.deepEqual(
        subject.problems.map((problem) => codeOf(problem)),
        ['ENGINE_FIELD_DROPPED'],
      )
      socket.close(1000)
      await socket.closed
    })
  }

  test('accepted later, none of many is closed by the switch itself', async (t) => {
    const subject = await start(t, (exchange) => {
      setImmediate(() => exchange.webSocket?.accept({}, ignored))
    })
    for (let i = 0; i < 100; i++) {
      const socket = await opened(subject, [])
      socket.close(1000)
      assert.equal((await socket.closed)[0], 1000)
    }
  })
}

function messageContract(start: StartWebSocketSubject): void {
  test('text and binary messages pass both ways, also empty ones', async (t) => {
    const socket = await opened(await start(t, echo))
    for (const [data, isBinary] of [
      [Buffer.from('grüße ✓'), false],
      [Buffer.from([0, 255, 128]), true],
      [Buffer.alloc(0), false],
      [Buffer.alloc(0), true],
    ] as const) {
      socket.send(data, isBinary)
      const got = await socket.next()
      assert.deepEqual([Buffer.from(got.data), got.isBinary], [data, isBinary])
    }
    socket.close(1000)
    await socket.closed
  })

  test('messages of a megabyte pass both ways, in order', async (t) => {
    const socket = await opened(await start(t, echo))
    const sent = [1, 2, 3, 4].map((mark) => Buffer.alloc(1_000_000 + mark, mark))
    for (const data of sent) socket.send(data, true)
    for (const data of sent) assert.ok(data.equals((await socket.next()).data))
    socket.close(1000)
    await socket.closed
  })

  test('an exception of a listener is reported and harms nothing', async (t) => {
    let peer: WebSocketPeer | undefined
    const subject = await start(t, (exchange) => {
      peer = exchange.webSocket?.accept(
        {},
        {
          ...ignored,
          message: (data, isBinary, ack) => {
            ack()
            if (data.byteLength === 0) throw new Error('in a listener')
            peer?.send(data, isBinary)
          },
        },
      )
    })
    if (subject.engine === undefined) return
    const socket = await opened(subject)
    socket.send(Buffer.alloc(0), true)
    socket.send(Buffer.from('after'), false)
    assert.equal(Buffer.from((await socket.next()).data).toString(), 'after')
    assert.deepEqual(
      subject.problems.map(({ message }) => message),
      ['in a listener'],
    )
    socket.close(1000)
    await socket.closed
  })
}

function closeContract(start: StartWebSocketSubject): void {
  /** Opens a socket and gives both ends and what was told of the end. */
  async function begin(t: TestContext) {
    const told: unknown[] = []
    const over = Promise.withResolvers<boolean>()
    const accepted = Promise.withResolvers<WebSocketPeer>()
    const subject = await start(t, (exchange) => {
      exchange.onClosed(over.resolve)
      const peer = exchange.webSocket?.accept(
        {},
        { message: () => told.push('message'), drained: () => told.push('drained'), closed: (...end) => told.push(end) },
      )
      if (peer !== undefined) accepted.resolve(peer)
    })
    const socket = await opened(subject)
    return { socket, subject, told, over: over.promise, peer: await accepted.promise }
  }

  test('the client closes with a code and a reason, and the exchange closes', async (t) => {
    const { socket, told, over, peer, subject } = await begin(t)
    socket.close(4001, 'enough')
    assert.equal(await over, false)
    assert.deepEqual(told, [[4001, 'enough']])
    assert.deepEqual(await socket.closed, [4001, 'enough'])
    assert.equal(peer.send(Buffer.from('late'), false), true)
    peer.close(1000, '')
    peer.terminate()
    assert.equal(subject.engine?.inFlight ?? 0, 0)
  })

  test('the client closes without a code', async (t) => {
    const { socket, told, over } = await begin(t)
    socket.close()
    await over
    assert.deepEqual(told, [[1005, '']])
  })

  for (const [code, reason, seen] of [
    [1000, 'bye', [1000, 'bye']],
    [4999, 'é'.repeat(100), [4999, 'é'.repeat(61)]],
    [1005, 'unsaid', [1005, '']],
    [1006, 'unsaid', [1005, '']],
    [999, 'no such code', [1011, 'no such code']],
  ] as const) {
    test(`the server closes with ${code}`, async (t) => {
      const { socket, peer, over } = await begin(t)
      peer.close(code, reason)
      assert.deepEqual(await socket.closed, seen)
      assert.equal(await over, false)
    })
  }

  test('a client that vanishes is 1006', async (t) => {
    const { socket, told, over } = await begin(t)
    socket.vanish()
    await over
    assert.deepEqual(told, [[1006, '']])
  })

  test('the server cuts', async (t) => {
    const { socket, told, over, peer } = await begin(t)
    peer.terminate()
    assert.equal((await socket.closed)[0], 1006)
    await over
    assert.deepEqual(told, [[1006, '']])
  })

  test('a message that is far too long ends the connection', async (t) => {
    const { socket, told, over } = await begin(t)
    socket.send(Buffer.alloc(17 * 1024 * 1024), true)
    const [code] = await socket.closed
    assert.ok([1006, 1009].includes(code), `closed with ${code}`)
    await over
    assert.equal(told.includes('message'), false)
  })

  test('a WebSocket is in flight, and a drain closes it with 1001', async (t) => {
    const { socket, told, subject } = await begin(t)
    if (subject.engine === undefined) return socket.vanish()
    assert.deepEqual([subject.engine.inFlight, subject.engine.connections], [1, 1])
    assert.deepEqual(await subject.engine.drain(30_000), { cut: 0 })
    assert.deepEqual(await socket.closed, [1001, 'going away'])
    assert.deepEqual(told, [[1001, 'going away']])
    assert.deepEqual([subject.engine.inFlight, subject.engine.connections], [0, 0])
  })

  test('a cut ends it', async (t) => {
    const { socket, told, subject } = await begin(t)
    if (subject.engine === undefined) return socket.vanish()
    subject.engine.cut()
    assert.equal((await socket.closed)[0], 1006)
    await waitFor('the end at the server', () => told.length > 0)
    assert.deepEqual(told, [[1006, '']])
  })

  test('connections are counted down when it closes', async (t) => {
    const { socket, subject } = await begin(t)
    if (subject.engine === undefined) return socket.vanish()
    socket.close(1000)
    await socket.closed
    await waitFor('no connection', () => subject.engine?.connections === 0)
    assert.equal(subject.engine.inFlight, 0)
  })
}

function pressureContract(start: StartWebSocketSubject): void {
  test('a slow reader makes the sender wait, and gets everything in order', async (t) => {
    const [count, bytes] = [400, 100_000]
    const blocked = Promise.withResolvers<void>()
    let waits = 0
    const subject = await start(t, (exchange) => {
      let at = 0
      const next = (): void => {
        while (at < count) {
          const data = Buffer.alloc(bytes, at % 251)
          at++
          if (peer?.send(data, true) === false) {
            waits++
            blocked.resolve()
            return
          }
        }
      }
      const peer = exchange.webSocket?.accept({}, { ...ignored, drained: next })
      // The memory engine has no peer before `accept` returns, and neither has anybody else.
      setImmediate(next)
    })
    const socket = await opened(subject)
    socket.pause()
    await blocked.promise
    socket.resume()
    for (let at = 0; at < count; at++) {
      const { data } = await socket.next()
      assert.deepEqual([data.byteLength, data[0], data.at(-1)], [bytes, at % 251, at % 251])
    }
    assert.ok(waits > 0)
    socket.close(1000)
    await socket.closed
  })

  test('messages that are acknowledged late all arrive, in order', async (t) => {
    const [count, bytes] = [60, 100_000]
    const marks: number[] = []
    const all = Promise.withResolvers<void>()
    const subject = await start(t, (exchange) => {
      exchange.webSocket?.accept(
        {},
        {
          ...ignored,
          message: (data, _isBinary, ack) => {
            marks.push(data[0] ?? -1)
            if (marks.length === count) all.resolve()
            setImmediate(ack)
          },
        },
      )
    })
    const socket = await opened(subject)
    for (let at = 0; at < count; at++) socket.send(Buffer.alloc(bytes, at), true)
    await all.promise
    assert.deepEqual(
      marks,
      Array.from({ length: count }, (_, at) => at),
    )
    socket.close(1000)
    await socket.closed
  })
}
