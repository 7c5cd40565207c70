// Runs alone: it waits for many limits.
import assert from 'node:assert/strict'
import { connect, constants } from 'node:http2'
import { describe, type TestContext, test } from 'node:test'
import { codeOf } from '@svc/core'
import type { HttpExchange } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { HeaderBlocks, readyHeadOf } from '../src/exchange/response-head.ts'
import { block, bomb, flags, frame, frames, getBlock, line, openRaw } from './hostile/raw-http2.ts'
import { type RunningEngine, type StartOptions, startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

const ok = { status: 200, headers: [] } as const
const hello = (exchange: HttpExchange) => exchange.respond(ok, Buffer.from('hello'))
const whole = flags.endHeaders | flags.endStream

function start(t: TestContext, handler: (exchange: HttpExchange) => void, options: StartOptions = {}): Promise<RunningEngine> {
  return startEngine(t, 'node', handler, { ...options, tls: anyCertificate(t) })
}

/** Asks with a client that behaves. */
async function isServed(port: number): Promise<boolean> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on('error', () => undefined)
  const stream = session.request({ ':path': '/' })
  stream.on('error', () => undefined)
  stream.resume()
  const status = await new Promise((resolve) => {
    stream.on('response', (headers) => resolve(headers[':status']))
    stream.on('close', () => resolve(undefined))
  })
  session.destroy()
  return status === 200
}

/** Status of the response on a stream: HPACK names those of the static table by one byte. */
function statusOf(payload: Buffer | undefined): string | undefined {
  if (payload === undefined) return undefined
  const known: Readonly<Record<number, string>> = { 136: '200', 140: '400' }
  const first = payload[0] ?? 0
  // 0x48: a literal for :status, as text or in Huffman code.
  return known[first] ?? (first === 0x48 ? payload.subarray(1).toString('hex') : undefined)
}

describe('hostile HTTP/2', { concurrency: true }, () => {
  test('streams that are opened and reset at once end the connection, and most of them never run', async (t) => {
    let runs = 0
    const { port } = await start(t, (exchange) => {
      runs++
      if (exchange.request.path === '/') hello(exchange)
    })
    const raw = await openRaw(t, port)
    const attack = block(...line('GET', '/attack'))
    const count = 20_000
    for (let at = 0; at < count && !raw.isSentAway; at += 100) {
      const parts: Buffer[] = []
      for (let i = at; i < at + 100; i++) {
        const stream = 2 * i + 1
        const code = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])
        parts.push(frame(frames.headers, whole, stream, attack), frame(frames.reset, 0, stream, code))
      }
      raw.send(...parts)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await waitFor('the end of the connection', () => raw.isSentAway)
    assert.ok(runs < count / 2, `${runs} requests ran`)
    assert.equal(await isServed(port), true)
  })

  test('a head in very many pieces ends the connection', async (t) => {
    const { port } = await start(t, hello)
    const raw = await openRaw(t, port)
    raw.send(frame(frames.headers, flags.endStream, 1, getBlock))
    for (let at = 0; at < 1000 && !raw.isSentAway; at++) {
      raw.send(frame(frames.continuation, 0, 1, block([`x-${at}`, 'y'])))
    }
    await waitFor('the end of the connection', () => raw.isSentAway)
    assert.equal(await isServed(port), true)
  })

  test('a small head that unpacks to a large one is not taken', async (t) => {
    let runs = 0
    const { port } = await start(t, (exchange) => {
      if (exchange.request.header('x-bomb') === undefined) hello(exchange)
      else runs++
    })
    const raw = await openRaw(t, port)
    raw.send(frame(frames.headers, whole, 1, Buffer.concat([getBlock, bomb('b'.repeat(3000), 4000)])))
    await waitFor('a refusal', () => raw.resetOf(1) !== undefined || raw.isSentAway)
    assert.equal(runs, 0)
    assert.equal(await isServed(port), true)
  })

  for (const [what, fields] of [
    ['too large', [['x-large', 'x'.repeat(17_000)]]],
    ['of too many fields', Array.from({ length: 110 }, (_, at) => [`x-${at}`, 'y'] as const)],
  ] as const) {
    test(`a head ${what} is answered with 431`, async (t) => {
      const { port, refusals } = await start(t, () => assert.fail('must not run'))
      const session = connect(`https://127.0.0.1:${port}`, {
        rejectUnauthorized: false,
        settings: { maxHeaderListSize: 100_000 },
      })
      t.after(() => session.destroy())
      const stream = session.request({ ':path': '/', ...Object.fromEntries(fields) })
      const [headers] = await new Promise<[Record<string, unknown>]>((resolve, reject) => {
        stream.on('response', (got) => resolve([got]))
        stream.on('error', reject)
      })
      assert.equal(headers[':status'], 431)
      assert.equal(refusals[0]?.status, 431)
    })
  }

  test('more streams at once than are allowed are refused', async (t) => {
    const { port, engine } = await start(t, (exchange) => exchange.liftAnswerLimit())
    const raw = await openRaw(t, port)
    await waitFor('the settings', () => raw.received.some(({ type }) => type === frames.settings))
    for (let at = 0; at < 200; at++) raw.send(frame(frames.headers, whole, 2 * at + 1, getBlock))
    await waitFor('refused streams', () => raw.received.some(({ type }) => type === frames.reset) || raw.isSentAway)
    assert.ok(engine.inFlight <= 128, `${engine.inFlight} in flight`)
  })

  for (const [kind, one] of [
    ['pings', frame(frames.ping, 0, 0, Buffer.alloc(8))],
    ['settings', frame(frames.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
    ['window updates', frame(frames.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]))],
    ['empty data', frame(frames.data, 0, 1)],
  ] as const) {
    test(`a client that floods with ${kind} and reads nothing does not keep others from being served`, async (t) => {
      const { port } = await start(t, hello)
      const raw = await openRaw(t, port)
      if (kind === 'empty data') raw.send(frame(frames.headers, flags.endHeaders, 1, block(...line('POST', '/'))))
      raw.socket.pause()
      const many = Buffer.concat(Array.from({ length: 1000 }, () => one))
      for (let at = 0; at < 50; at++) raw.send(many)
      assert.equal(await isServed(port), true)
      raw.socket.destroy()
    })
  }

  for (const [what, fields] of [
    ['a field of the connection', [...line('GET', '/'), ['connection', 'close']]],
    ['a transfer encoding', [...line('POST', '/'), ['transfer-encoding', 'chunked']]],
    ['a name in capitals', [...line('GET', '/'), ['X-Big', '1']]],
    ['no path', line('GET', '/').filter(([name]) => name !== ':path')],
    ['an unknown pseudo-header field', [...line('GET', '/'), [':x', '1']]],
    ['two methods', [[':method', 'GET'], ...line('GET', '/')]],
  ] as const) {
    test(`a request with ${what} is reset and does not run`, async (t) => {
      let runs = 0
      const { port } = await start(t, () => runs++)
      const raw = await openRaw(t, port)
      raw.send(frame(frames.headers, whole, 1, block(...(fields as readonly (readonly [string, string])[]))))
      await waitFor('a refusal', () => raw.resetOf(1) !== undefined || raw.isSentAway)
      assert.equal(runs, 0)
    })
  }

  for (const [what, fields] of [
    ['another host than its authority', [...line('GET', '/'), ['host', 'b.test']]],
    ['two hosts', [...line('GET', '/'), ['host', 'a.test'], ['host', 'a.test']]],
    ['no host', line('GET', '/').filter(([name]) => name !== ':authority')],
    ['a bad host', [...line('GET', '/').filter(([name]) => name !== ':authority'), [':authority', 'a b']]],
    ['a bad path', line('GET', '/%zz')],
    ['a length that is none', [...line('POST', '/'), ['content-length', '+5']]],
  ] as const) {
    test(`a request with ${what} is refused and does not run`, async (t) => {
      let runs = 0
      const { port } = await start(t, () => runs++)
      const raw = await openRaw(t, port)
      raw.send(frame(frames.headers, whole, 1, block(...(fields as readonly (readonly [string, string])[]))))
      const answer = () => raw.received.find(({ type, stream }) => type === frames.headers && stream === 1)?.payload
      await waitFor('a refusal', () => raw.resetOf(1) !== undefined || answer() !== undefined || raw.isSentAway)
      assert.ok(raw.resetOf(1) !== undefined || statusOf(answer()) === '400' || raw.isSentAway, statusOf(answer()))
      assert.equal(runs, 0)
    })
  }

  test('a field with a line end in its value reaches no handler', async (t) => {
    const seen = Promise.withResolvers<unknown>()
    const { port } = await start(t, (exchange) => seen.resolve(exchange.request.headers))
    const raw = await openRaw(t, port)
    raw.send(frame(frames.headers, whole, 1, block(...line('GET', '/'), ['x-a', 'a\r\nb: c'], ['x-b', 'good'])))
    assert.deepEqual(await seen.promise, [
      ['host', 'a.test'],
      ['x-b', 'good'],
    ])
  })

  for (const [what, last] of [
    ['ends short of its length', frame(frames.data, flags.endStream, 1, Buffer.from('abc'))],
    ['goes past its length', frame(frames.data, 0, 1, Buffer.from('abcdefgh'))],
    ['is reset without an error', frame(frames.reset, 0, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_NO_ERROR]))],
    ['is cancelled', frame(frames.reset, 0, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]))],
  ] as const) {
    test(`a body that ${what} fails its reader`, async (t) => {
      const failure = Promise.withResolvers<unknown>()
      const { port, engine } = await start(t, (exchange) =>
        exchange.body.read(
          (_chunk, ack) => ack(),
          (error) => failure.resolve(error),
        ),
      )
      const raw = await openRaw(t, port)
      raw.send(frame(frames.headers, flags.endHeaders, 1, block(...line('POST', '/'), ['content-length', '5'])))
      await waitFor('the request', () => engine.inFlight === 1)
      raw.send(last)
      assert.equal(codeOf(await failure.promise), 'HTTP_ABORTED')
      await waitFor('the end of the exchange', () => engine.inFlight === 0)
    })
  }

  test('a body without length that is reset without an error fails its reader', async (t) => {
    const failure = Promise.withResolvers<unknown>()
    const { port } = await start(t, (exchange) =>
      exchange.body.read(
        (chunk, ack) => {
          ack()
          if (chunk.byteLength > 0) raw.send(frame(frames.reset, 0, 1, Buffer.alloc(4)))
        },
        (error) => failure.resolve(error),
      ),
    )
    const raw = await openRaw(t, port)
    raw.send(
      frame(frames.headers, flags.endHeaders, 1, block(...line('POST', '/'))),
      frame(frames.data, 0, 1, Buffer.from('abc')),
    )
    assert.equal(codeOf(await failure.promise), 'HTTP_ABORTED')
  })

  test('a connection on which nothing is asked is closed after the idle time', async (t) => {
    const { port } = await start(t, hello, { idleTimeoutMs: 100 })
    const raw = await openRaw(t, port)
    raw.send(frame(frames.headers, whole, 1, getBlock))
    await raw.closed
  })

  test('a reader that opens no window is cut after the idle time', async (t) => {
    const closed = Promise.withResolvers<boolean>()
    const { port, engine } = await start(
      t,
      (exchange) => {
        exchange.onClosed(closed.resolve)
        exchange.respond(ok, Buffer.alloc(1_000_000))
      },
      { idleTimeoutMs: 200 },
    )
    const raw = await openRaw(t, port)
    raw.send(frame(frames.headers, whole, 1, getBlock))
    assert.equal(await closed.promise, true)
    assert.equal(engine.inFlight, 0)
  })

  test('one that opens no window for a ready response is cut after the idle time too', async (t) => {
    const head = readyHeadOf(new HeaderBlocks((error) => assert.fail(error)).of(ok))
    const response = { head, body: Buffer.alloc(1000), length: '' }
    const ready = { find: () => response, sent: () => undefined, sentLater: () => () => undefined }
    const { port, engine } = await start(t, () => assert.fail('must not run'), { ready, idleTimeoutMs: 200 })
    const raw = await openRaw(t, port)
    const noWindow = Buffer.from([0, 4, 0, 0, 0, 0])
    raw.send(frame(frames.settings, 0, 0, noWindow), frame(frames.headers, whole, 1, getBlock))
    // A test that was held up may find that the connection was idle before its request was.
    await waitFor('the reset', () => raw.resetOf(1) !== undefined || raw.isSentAway)
    await raw.closed
    await waitFor('the end', () => engine.inFlight === 0 && engine.connections === 0)
  })

  test('a connection of which nothing is read is cut after the idle time', async (t) => {
    const { port, engine } = await start(t, (exchange) => exchange.respond(ok, Buffer.alloc(3_000_000)), { idleTimeoutMs: 200 })
    const raw = await openRaw(t, port)
    const wide = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])
    raw.send(frame(frames.settings, 0, 0, wide), frame(frames.windowUpdate, 0, 0, Buffer.from([0x7f, 0xff, 0, 0])))
    raw.socket.pause()
    for (let at = 0; at < 20; at++) raw.send(frame(frames.headers, whole, 2 * at + 1, getBlock))
    await waitFor('the requests', () => engine.inFlight > 0)
    await waitFor('the end', () => engine.connections === 0)
    assert.equal(engine.inFlight, 0)
  })
})
