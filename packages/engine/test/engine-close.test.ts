import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import type { HttpExchange } from '@svc/http'
import type { ReadyResponses } from '../src/exchange/ready-responses.ts'
import { HeaderBlocks, readyHeadOf } from '../src/exchange/response-head.ts'
import { type EngineName, engines, type RunningEngine, startEngine } from './start-engine.ts'

const blocks = new HeaderBlocks((error) => assert.fail(error))
const ok = { status: 200, headers: [['content-type', 'text/plain']] } as const
/** More than a socket takes at once. */
const large = Buffer.alloc(8_000_000, 'x')

/** Responses that need no exchange. */
const ready: ReadyResponses = {
  find({ method, parsed }) {
    const head = readyHeadOf(blocks.of(ok))
    if (parsed.path === '/ready') {
      return method === 'HEAD' ? { head, body: undefined, length: '5' } : { head, body: Buffer.from('ready'), length: '' }
    }
    if (parsed.path === '/ready-large') return { head, body: large, length: '' }
    if (parsed.path === '/ready-304') return { head: readyHeadOf(blocks.of({ ...ok, status: 304 })), body: undefined, length: '' }
    return undefined
  },
  sent: () => undefined,
  sentLater: () => () => undefined,
}

/** Ways to answer. Those of `slow` wait until `release`. */
class Site {
  posts = 0
  #release: (() => void)[] = []
  readonly waiting = Promise.withResolvers<void>()

  readonly handle = (exchange: HttpExchange): void => {
    const { method, path } = exchange.request
    if (method === 'POST' && path === '/effect') this.posts++
    if (path.startsWith('/slow')) {
      this.#release.push(() => this.#answer(exchange, path.slice(5)))
      this.waiting.resolve()
    } else this.#answer(exchange, path)
  }

  release(): void {
    for (const answer of this.#release.splice(0)) answer()
  }

  #answer(exchange: HttpExchange, path: string): void {
    if (path === '/204' || path === '/304') exchange.respond({ status: Number(path.slice(1)), headers: [] })
    else if (path === '/empty') exchange.respond(ok)
    else if (path === '/large') exchange.respond(ok, large)
    else if (path === '/sized') exchange.stream(ok, { length: 5 }).end(Buffer.from('hello'))
    else if (path === '/stream') {
      const writer = exchange.stream(ok)
      writer.write(Buffer.from('hel'))
      setImmediate(() => writer.end(Buffer.from('lo')))
    } else if (path === '/empty-stream') exchange.stream(ok).end()
    else exchange.respond(ok, Buffer.from('hello'))
  }
}

interface Running extends RunningEngine {
  readonly site: Site
}

async function start(t: TestContext, name: EngineName, maxBodyBytes = 1_000_000): Promise<Running> {
  const site = new Site()
  return { ...(await startEngine(t, name, site.handle, { ready, maxBodyBytes })), site }
}

const head = (line: string, ...fields: readonly string[]): string => [line, 'Host: a.test', ...fields, '', ''].join('\r\n')
const get = (path: string, ...fields: readonly string[]): string => head(`GET ${path} HTTP/1.1`, ...fields)
const EFFECT = `${head('POST /effect HTTP/1.1', 'Content-Length: 3')}abc`

/** A connection of raw bytes. */
class Wire {
  readonly socket: Socket
  text = ''

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (data: Buffer) => {
      this.text += data.toString('latin1')
    })
    // The server may reset a connection on which it is still sent to.
    socket.on('error', () => undefined)
  }

  static async open(t: TestContext, port: number): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    return new Wire(socket)
  }

  async write(text: string): Promise<void> {
    // A connection that the server has closed already takes nothing more.
    await new Promise((resolve) => this.socket.write(text, 'latin1', () => resolve(undefined)))
  }

  /** Resolves when the first bytes of an answer have come. */
  async answered(): Promise<void> {
    if (this.text === '') await new Promise((resolve) => this.socket.once('data', resolve).once('close', resolve))
  }

  /** Statuses of all responses, once the server has ended the connection. */
  async statuses(): Promise<number[]> {
    const { socket } = this
    if (!socket.readableEnded && !socket.destroyed)
      await new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  }
}

/** Resolves when the engine has read what was written before on other connections. */
async function readByEngine(t: TestContext, port: number): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const wire = await Wire.open(t, port)
    await wire.write(get('/', 'Connection: close'))
    await wire.statuses()
  }
}

const SPELLINGS: readonly (readonly string[])[] = [
  ['Connection: close'],
  ['Connection: CLOSE'],
  ['CONNECTION:close'],
  ['Connection: keep-alive, close'],
  ['Connection: , Close ,TE'],
  ['Connection: keep-alive', 'Connection: close'],
  ['Connection: close', 'Connection: keep-alive'],
]
const PATHS = [
  '/',
  '/ready',
  '/204',
  '/304',
  '/empty',
  '/sized',
  '/stream',
  '/empty-stream',
  '/slow/',
  '/slow/stream',
  '/slow/204',
] as const

for (const name of Object.keys(engines) as EngineName[]) {
  describe(`engine ${name} runs nothing behind a response that closes its connection`, { concurrency: true }, () => {
    for (const fields of SPELLINGS) {
      test(`in the same packet: ${fields.join(' | ')}`, async (t) => {
        const { port, site } = await start(t, name)
        for (const path of [...PATHS, '/ready-304', '/large', '/ready-large']) {
          for (const method of ['GET', 'HEAD']) {
            const wire = await Wire.open(t, port)
            await wire.write(head(`${method} ${path} HTTP/1.1`, ...fields) + EFFECT)
            if (path.startsWith('/slow')) await readByEngine(t, port)
            site.release()
            const statuses = await wire.statuses()
            assert.ok(statuses.length <= 1, `${method} ${path}: ${statuses}`)
            if (method === 'GET' && (path === '/' || path === '/ready')) assert.deepEqual(statuses, [200], path)
            assert.equal(site.posts, 0, `${method} ${path}`)
          }
        }
      })

      test(`in a packet behind the answer: ${fields.join(' | ')}`, async (t) => {
        const { port, site } = await start(t, name)
        for (const path of [...PATHS, '/ready-304']) {
          for (const method of ['GET', 'HEAD']) {
            const wire = await Wire.open(t, port)
            await wire.write(head(`${method} ${path} HTTP/1.1`, ...fields))
            if (path.startsWith('/slow')) await site.waiting.promise
            if (path.startsWith('/slow')) await readByEngine(t, port)
            site.release()
            await wire.answered()
            await wire.write(EFFECT)
            assert.deepEqual(await wire.statuses(), [path.endsWith('04') ? Number(path.slice(-3)) : 200], `${method} ${path}`)
            assert.match(wire.text, /^connection: close\r$/im, `${method} ${path}`)
            assert.match(wire.text, /^date: .* GMT\r$/im, `${method} ${path}`)
            assert.equal(site.posts, 0, `${method} ${path}`)
          }
        }
      })
    }

    test('while it is still being answered', async (t) => {
      const { port, site } = await start(t, name)
      for (const path of ['/slow/', '/slow/stream', '/slow/204']) {
        const wire = await Wire.open(t, port)
        await wire.write(get(path, 'Connection: keep-alive, close'))
        await readByEngine(t, port)
        await wire.write(EFFECT)
        await readByEngine(t, port)
        site.release()
        assert.ok((await wire.statuses()).length <= 1, path)
      }
      assert.equal(site.posts, 0)
    })

    test('while a slow reader takes it', async (t) => {
      const { port, site } = await start(t, name)
      for (const path of ['/large', '/ready-large']) {
        const wire = await Wire.open(t, port)
        wire.socket.pause()
        await wire.write(get(path, 'Connection: close'))
        await readByEngine(t, port)
        await wire.write(EFFECT)
        await readByEngine(t, port)
        wire.socket.resume()
        assert.deepEqual(await wire.statuses(), [200], path)
      }
      assert.equal(site.posts, 0)
    })

    test('the answer arrives whole, in each way of answering', async (t) => {
      const { port, site } = await start(t, name)
      for (const [path, end] of [
        ['/', 'hello'],
        ['/ready', 'ready'],
        ['/sized', 'hello'],
        ['/empty', '\r\n\r\n'],
        ['/204', '\r\n\r\n'],
        ['/large', 'xxx'],
        ['/ready-large', 'xxx'],
      ] as const) {
        const wire = await Wire.open(t, port)
        await wire.write(get(path, 'Connection: keep-alive, close'))
        await wire.statuses()
        assert.ok(wire.text.endsWith(end), `${path}: ${wire.text.slice(0, 300)}`)
        assert.equal(wire.text.match(/^connection:/gim)?.length, 1, path)
        if (path.endsWith('large')) assert.equal(wire.text.length - wire.text.indexOf('\r\n\r\n') - 4, large.length)
      }
      for (const path of ['/stream', '/empty-stream']) {
        for (const field of ['close', 'keep-alive, close']) {
          const response = await fetchText(port, path, field)
          assert.equal(response, path === '/stream' ? 'hello' : '', `${path} ${field}`)
        }
      }
      assert.equal(site.posts, 0)
    })

    test('the answer arrives whole while the request is still being sent', async (t) => {
      const { port, site } = await start(t, name)
      for (const path of ['/', '/stream', '/204']) {
        const wire = await Wire.open(t, port)
        await wire.write(`${head(`POST ${path} HTTP/1.1`, 'Connection: close', 'Content-Length: 300000')}${'x'.repeat(100_000)}`)
        await wire.answered()
        await readByEngine(t, port)
        assert.equal(wire.socket.readableEnded, false, 'the connection stays until the request is read')
        await wire.write('x'.repeat(200_000) + EFFECT)
        assert.deepEqual(await wire.statuses(), [path === '/204' ? 204 : 200], path)
      }
      assert.equal(site.posts, 0)
    })

    test('a refused request', async (t) => {
      const { port, site, refusals } = await start(t, name, 10)
      for (const bad of [
        head('GET / HTTP/1.1', 'Host: b.test'),
        head('GET /a\\b HTTP/1.1'),
        `${head('POST / HTTP/1.1', 'Content-Length: 20')}${'x'.repeat(20)}`,
      ]) {
        const wire = await Wire.open(t, port)
        await wire.write(bad + EFFECT)
        assert.ok((await wire.statuses()).length <= 1)
        const later = await Wire.open(t, port)
        await later.write(bad)
        await later.answered()
        await later.write(EFFECT)
        assert.equal((await later.statuses()).length, 1)
      }
      assert.ok(name === 'node' || refusals.length > 0)
      assert.equal(site.posts, 0)
    })

    test('a drain', async (t) => {
      const { engine, port, site } = await start(t, name)
      const same = await Promise.all(PATHS.map(() => Wire.open(t, port)))
      const later = await Promise.all(PATHS.map(() => Wire.open(t, port)))
      const held = await Wire.open(t, port)
      await held.write(get('/slow/'))
      await site.waiting.promise
      const drained = engine.drain(60_000)
      for (const [i, wire] of same.entries()) await wire.write(get(PATHS[i] ?? '/') + EFFECT)
      for (const [i, wire] of later.entries()) {
        const path = PATHS[i] ?? '/'
        if (path.startsWith('/slow')) continue
        await wire.write(get(path))
        await wire.answered()
        await wire.write(EFFECT)
        assert.equal((await wire.statuses()).length, 1, path)
        assert.match(wire.text, /^connection: close\r$/im, path)
      }
      const sync = same.filter((_, i) => PATHS[i]?.startsWith('/slow') === false)
      for (const wire of sync) assert.ok((await wire.statuses()).length <= 1)
      site.release()
      for (const wire of same) assert.ok((await wire.statuses()).length <= 1)
      await drained
      assert.equal(site.posts, 0)
    })
  })
}

/** By a client that reads strictly. */
async function fetchText(port: number, path: string, connection: string): Promise<string> {
  const { get: ask } = await import('node:http')
  return new Promise((resolve, reject) => {
    const request = ask({ port, host: '127.0.0.1', path, headers: { connection }, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data: string) => {
        text += data
      })
      response.on('end', () => resolve(text))
      response.on('error', reject)
    })
    request.on('error', reject)
  })
}

describe('engine node, in other protocols of the connection', () => {
  const handshake = head(
    'GET /effect HTTP/1.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  )

  test('HTTP/1.0 closes without keep-alive, and always with close', async (t) => {
    const { port, site } = await start(t, 'node')
    for (const fields of [[], ['Connection: keep-alive, close'], ['Connection: keep-alive', 'Connection: close']]) {
      const wire = await Wire.open(t, port)
      await wire.write(head('GET / HTTP/1.0', ...fields) + EFFECT)
      assert.deepEqual(await wire.statuses(), [200])
    }
    assert.equal(site.posts, 0)
  })

  test('a WebSocket or a tunnel behind a response that closes is not looked at', async (t) => {
    let handshakes = 0
    const { port } = await startEngine(
      t,
      'node',
      (exchange) => {
        if (exchange.webSocket !== undefined) handshakes++
        exchange.respond(ok, Buffer.from('hello'))
      },
      { ready },
    )
    for (const path of ['/', '/ready']) {
      for (const behind of [handshake, 'CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n']) {
        const wire = await Wire.open(t, port)
        await wire.write(get(path, 'Connection: close') + behind)
        assert.deepEqual(await wire.statuses(), [200], `${path} ${behind.slice(0, 8)}`)
      }
    }
    assert.equal(handshakes, 0)
  })
})
