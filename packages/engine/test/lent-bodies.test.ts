import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { type HttpExchange, MAX_LENT_BYTES } from '@svc/http'
import { type EngineName, startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

/** More turns than an engine takes to hand a response over to a connection that takes it. */
const TURNS = 50

/** Answers from one buffer again and again, until the client has taken only a part of a response. */
class LendingHandler {
  readonly #lent: Buffer
  readonly #stalled = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  #isDone = true
  responses = 0
  /** Called when the client has taken a response. */
  onTaken: () => void = () => undefined

  constructor(bytes: number) {
    this.#lent = Buffer.alloc(bytes)
  }

  get stalled(): Promise<void> {
    return this.#stalled.promise
  }

  /** Resolves when the client has taken the stalled response. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  handle(exchange: HttpExchange): void {
    this.responses++
    this.#isDone = false
    const closed = Promise.withResolvers<void>()
    exchange.onClosed(() => {
      this.#isDone = true
      closed.resolve()
    })
    exchange.respond({ status: 200, headers: [] }, this.#lent.fill('a'))
    this.#lent.fill('x')
    void this.#settle(closed.promise)
  }

  async #settle(closed: Promise<void>): Promise<void> {
    for (let turn = 0; turn < TURNS && !this.#isDone; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (this.#isDone) this.onTaken()
    else {
      this.#stalled.resolve()
      this.#closed.resolve(closed)
    }
  }
}

for (const engine of ['uws', 'node'] satisfies EngineName[]) {
  for (const isTls of [false, true]) {
    for (const bytes of [10_000, MAX_LENT_BYTES]) {
      const name = `${engine}${isTls ? ' with TLS' : ''}`
      test(`${name}: a client that reads nothing gets no bytes of later responses in a body of ${bytes} bytes`, async (t) => {
        const handler = new LendingHandler(bytes)
        const tls = isTls ? { tls: anyCertificate(t) } : {}
        const { port } = await startEngine(t, engine, (exchange) => handler.handle(exchange), tls)
        const to = { port, host: '127.0.0.1' }
        const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false, servername: 'a.test' }) : connect(to)
        t.after(() => socket.destroy())
        await once(socket, isTls ? 'secureConnect' : 'connect')
        socket.pause()
        const ask = () => socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
        handler.onTaken = ask
        ask()
        await handler.stalled
        const received: Buffer[] = []
        socket.on('data', (piece: Buffer) => received.push(piece)).resume()
        await handler.closed
        socket.end()
        await once(socket, 'close')
        const bodies = Buffer.concat(received)
          .toString('latin1')
          .split(/HTTP.*?\r\n\r\n/s)
          .slice(1)
        assert.equal(bodies.length, handler.responses)
        assert.ok(bodies.every((body) => body === 'a'.repeat(bytes)))
      })
    }
  }
}
