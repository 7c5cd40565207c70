// Runs alone: it waits for many limits.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { codeOf } from '@svc/core'
import type { BodyWriter, HttpExchange } from '@svc/http'
import { fetchHttp, tempDir, waitFor } from '@svc/testkit'
import { type EngineName, type StartOptions, startEngine } from './start-engine.ts'

const ok = { status: 200, headers: [] } as const
const hello = (exchange: HttpExchange) => exchange.respond(ok, Buffer.from('hello'))

function askSocket(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ socketPath, headers: { host: 'a' }, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks).toString()))
    })
    sent.on('error', reject)
    sent.end()
  })
}

async function client(
  t: TestContext,
  port: number,
): Promise<{ socket: Socket; received: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1')
  })
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return { socket, received: () => text, closed }
}

for (const name of ['uws', 'node'] satisfies EngineName[]) lifecycle(name)

function lifecycle(name: EngineName): void {
  const start = (t: TestContext, handler: (exchange: HttpExchange) => void, options?: StartOptions) =>
    startEngine(t, name, handler, options)
  describe(`${name}: listening`, () => {
    test('an address in use by another program is a clear error', async (t) => {
      const { engine } = await start(t, hello)
      const other = createServer().listen(0, '127.0.0.1')
      t.after(() => other.close())
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      await assert.rejects(engine.listen({ name: 'taken', host: '127.0.0.1', port }), { code: 'ENGINE_ADDRESS_IN_USE' })
    })

    test('an address of another machine is a clear error', async (t) => {
      const { engine } = await start(t, hello)
      await assert.rejects(engine.listen({ name: 'foreign', host: '192.0.2.1', port: 8080 }), { code: 'ENGINE_BAD_ADDRESS' })
    })

    test('two engines share a fixed port', async (t) => {
      const first = await start(t, hello)
      first.engine.unlisten('test')
      const second = await start(t, hello)
      const { port } = second
      await second.engine.listen({ name: 'again', host: '127.0.0.2', port })
      assert.equal(await first.engine.listen({ name: 'shared', host: '127.0.0.2', port }), port)
    })

    test('requests know the address that they came in on', async (t) => {
      const { engine, port } = await start(t, (exchange) => exchange.respond(ok, Buffer.from(exchange.request.listener)))
      const second = await engine.listen({ name: 'second', host: '127.0.0.1', port: 0 })
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).text, 'test')
      assert.equal((await fetchHttp(`http://127.0.0.1:${second}/`)).text, 'second')
    })

    test('a unix socket is served, to every user, and can be taken over by the next engine', async (t) => {
      const socket = join(tempDir(t, 'unix'), 'http.sock')
      const address = { name: `unix:${socket}`, host: '', port: 0, socket }
      const { engine } = await start(t, (exchange) => {
        const { listener, remoteAddress } = exchange.request
        exchange.respond(ok, Buffer.from(`${listener} from "${remoteAddress}"`))
      })
      assert.equal(await engine.listen(address), 0)
      assert.equal(statSync(socket).mode & 0o777, 0o666)
      assert.equal(await askSocket(socket), `unix:${socket} from ""`)
      engine.unlisten(address.name)
      const next = await start(t, hello)
      await next.engine.listen(address)
      assert.equal(await askSocket(socket), 'hello')
    })

    test('a unix socket in a directory that does not exist is a clear error', async (t) => {
      const { engine } = await start(t, hello)
      const socket = join(tempDir(t, 'unix'), 'none', 'http.sock')
      await assert.rejects(engine.listen({ name: 'unix', host: '', port: 0, socket }), {
        code: 'ENGINE_ADDRESS_DENIED',
        message: /its directory is missing/,
      })
    })

    test('a mapped and a plain IPv6 address are written the canonical way', async (t) => {
      const { engine } = await start(t, (exchange) => exchange.respond(ok, Buffer.from(exchange.request.remoteAddress)))
      const port = await engine.listen({ name: 'six', host: '::', port: 0 })
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).text, '127.0.0.1')
      assert.equal((await fetchHttp(`http://[::1]:${port}/`)).text, '::1')
    })

    test('after unlisten the address refuses, its connections live on, and it can be taken again', async (t) => {
      const { engine, port } = await start(t, hello)
      const { socket, received } = await client(t, port)
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await waitFor('first answer', () => received().includes('hello'))
      engine.unlisten('test')
      await assert.rejects(fetchHttp(`http://127.0.0.1:${port}/`), { code: 'ECONNREFUSED' })
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await waitFor('second answer', () => received().split('hello').length === 3)
      const next = await engine.listen({ name: 'test', host: '127.0.0.1', port: 0 })
      assert.equal((await fetchHttp(`http://127.0.0.1:${next}/`)).text, 'hello')
    })
  })

  describe(`${name}: deadlines and refusals`, () => {
    test('a handler that throws is answered with 500, reported, and the next request is served', async (t) => {
      let count = 0
      const { port, problems } = await start(t, (exchange) => {
        if (count++ === 0) throw new Error('broken')
        hello(exchange)
      })
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).status, 500)
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).status, 200)
      assert.deepEqual(
        problems.map(({ message }) => message),
        ['broken'],
      )
    })

    test('a listener that throws is reported and harms nothing', async (t) => {
      const { port, problems, engine } = await start(t, (exchange) => {
        exchange.onClosed(() => {
          throw new Error('in a listener')
        })
        hello(exchange)
      })
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).text, 'hello')
      assert.equal(problems[0]?.message, 'in a listener')
      assert.equal(engine.inFlight, 0)
    })

    test('a request without a response in time gets 504, and a late response does nothing', async (t) => {
      const closed = Promise.withResolvers<boolean>()
      let late: HttpExchange | undefined
      const { port, refusals } = await start(
        t,
        (exchange) => {
          late = exchange
          exchange.onClosed(closed.resolve)
        },
        { requestTimeoutMs: 50 },
      )
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).status, 504)
      assert.equal(await closed.promise, true)
      late?.respond(ok)
      assert.deepEqual(
        refusals.map(({ status, code }) => [status, code]),
        [[504, 'response_timeout']],
      )
    })

    test('a request that does not arrive in time gets 408, and its reader an error', async (t) => {
      const failure = Promise.withResolvers<unknown>()
      const { port } = await start(
        t,
        (exchange) =>
          exchange.body.read(
            (_chunk, ack) => ack(),
            (error) => failure.resolve(error),
          ),
        { requestTimeoutMs: 50 },
      )
      const { socket, received, closed } = await client(t, port)
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhell')
      await waitFor('408', () => received().startsWith('HTTP/1.1 408 '))
      assert.equal(codeOf(await failure.promise), 'HTTP_REQUEST_TIMEOUT')
      socket.end()
      await closed
    })

    test('a stream that has begun has no deadline', async (t) => {
      let writer: BodyWriter | undefined
      const { port } = await start(
        t,
        (exchange) => {
          if (exchange.request.path !== '/stream') return
          writer = exchange.stream(ok)
          writer.write(Buffer.from('first'))
        },
        { requestTimeoutMs: 50 },
      )
      const stream = fetchHttp(`http://127.0.0.1:${port}/stream`)
      const held = await waitFor('stream', () => writer)
      // A request that came later has run into its deadline, so the stream is past it.
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).status, 504)
      held.end(Buffer.from(' last'))
      assert.equal((await stream).text, 'first last')
    })

    test('an answer whose limit was lifted may take any time, a request that does not arrive may not', async (t) => {
      const waiting = Promise.withResolvers<HttpExchange>()
      const { port } = await start(
        t,
        (exchange) => {
          if (exchange.request.path !== '/') exchange.liftAnswerLimit()
          if (exchange.request.path === '/patient') waiting.resolve(exchange)
        },
        { requestTimeoutMs: 50 },
      )
      const patient = fetchHttp(`http://127.0.0.1:${port}/patient`)
      const held = await waiting.promise
      // Requests that came later have run into their limits, so the first one is past it.
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).status, 504)
      const { socket, received } = await client(t, port)
      socket.write('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhell')
      await waitFor('408', () => received().startsWith('HTTP/1.1 408 '))
      held.respond(ok, Buffer.from('at last'))
      assert.equal((await patient).text, 'at last')
    })

    test('chunks from a trusted proxy get 411, a declared length is served', { skip: name === 'node' }, async (t) => {
      const { port, refusals } = await start(t, hello, { isTrustedProxy: (address) => address === '127.0.0.1' })
      const headers = { 'transfer-encoding': 'chunked' }
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: 'x' })).status, 411)
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })).status, 200)
      const known = { listener: 'test', remoteAddress: '127.0.0.1', method: 'POST', target: '/', request: undefined }
      assert.deepEqual(refusals, [{ status: 411, code: 'length_required', ...known }])
    })

    test('a large body waits for its reader and arrives whole', async (t) => {
      const total = 40_000_000
      const begun = Promise.withResolvers<HttpExchange>()
      const { port } = await start(t, (exchange) => begun.resolve(exchange))
      const { socket, received } = await client(t, port)
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${total}\r\n\r\n`)
      socket.write(Buffer.alloc(total))
      const exchange = await begun.promise
      let bytes = 0
      exchange.body.read(
        (chunk, ack) => {
          bytes += chunk.byteLength
          ack()
        },
        () => exchange.respond(ok, Buffer.from(`got ${bytes}`)),
      )
      await waitFor('answer', () => received().includes(`got ${total}`))
    })

    test('no field of the response names the library', async (t) => {
      const { port } = await start(t, hello)
      const { headers } = await fetchHttp(`http://127.0.0.1:${port}/`)
      assert.deepEqual(Object.keys(headers).sort(), ['content-length', 'date'])
    })
  })

  describe(`${name}: draining`, () => {
    test('counts connections and requests in flight', async (t) => {
      const waiting: HttpExchange[] = []
      const { engine, port } = await start(t, (exchange) => waiting.push(exchange))
      const answer = fetchHttp(`http://127.0.0.1:${port}/`)
      await waitFor('request', () => waiting.length === 1)
      assert.deepEqual([engine.connections, engine.inFlight], [1, 1])
      waiting[0]?.respond(ok)
      await answer
      assert.equal(engine.inFlight, 0)
      await waitFor('closed connection', () => engine.connections === 0)
    })

    test('refuses new connections, lets requests end and says that connections close', async (t) => {
      const waiting: HttpExchange[] = []
      const { engine, port } = await start(t, (exchange) => waiting.push(exchange))
      const agent = new Agent({ keepAlive: true })
      t.after(() => agent.destroy())
      const answer = fetchHttp(`http://127.0.0.1:${port}/`, { agent })
      await waitFor('request', () => waiting.length === 1)
      const drained = engine.drain(10_000)
      assert.equal(engine.drain(1), drained)
      await assert.rejects(fetchHttp(`http://127.0.0.1:${port}/`), { code: 'ECONNREFUSED' })
      await assert.rejects(engine.listen({ name: 'new', host: '127.0.0.1', port: 0 }), { code: 'ENGINE_CLOSED' })
      waiting[0]?.respond(ok, Buffer.from('done'))
      const { text, headers } = await answer
      assert.deepEqual([text, headers.connection], ['done', 'close'])
      assert.deepEqual(await drained, { cut: 0 })
      assert.equal(engine.connections, 0)
    })

    test('nothing is answered ready-made any more, so that connections close', async (t) => {
      const waiting: HttpExchange[] = []
      const asked: string[] = []
      const ready = {
        find: ({ target }: { target: string }) => {
          asked.push(target)
          return undefined
        },
        sent: () => undefined,
        sentLater: () => () => undefined,
      }
      const { engine, port } = await start(t, (exchange) => waiting.push(exchange), { ready })
      const [holding, idle] = [await client(t, port), await client(t, port)]
      holding.socket.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
      await waitFor('request', () => waiting.length === 1)
      const drained = engine.drain(60_000)
      idle.socket.write('GET /late HTTP/1.1\r\nHost: a\r\n\r\n')
      await waitFor('second request', () => waiting.length === 2)
      assert.deepEqual(asked, ['/held'])
      for (const exchange of waiting) exchange.respond(ok, Buffer.from('done'))
      await Promise.all([holding.closed, idle.closed])
      for (const { received } of [holding, idle]) assert.match(received(), /^connection: close\r$/im)
      assert.deepEqual(await drained, { cut: 0 })
    })

    test('large and streamed answers end whole, with and without length', async (t) => {
      const waiting: HttpExchange[] = []
      const { engine, port } = await start(t, (exchange) => waiting.push(exchange))
      const answers = ['/large', '/stream', '/sized'].map((path) => fetchHttp(`http://127.0.0.1:${port}${path}`))
      await waitFor('requests', () => waiting.length === 3)
      const drained = engine.drain(10_000)
      const body = Buffer.alloc(4_000_000, 'b')
      for (const exchange of waiting) {
        if (exchange.request.path === '/large') exchange.respond(ok, body)
        else exchange.stream(ok, exchange.request.path === '/sized' ? { length: body.length } : {}).end(body)
      }
      for (const answer of answers) {
        const { body: got, headers } = await answer
        assert.equal(got.equals(body), true)
        assert.equal(headers.connection, 'close')
      }
      assert.deepEqual(await drained, { cut: 0 })
    })

    test('idle connections do not hold it up', async (t) => {
      const { engine, port } = await start(t, hello)
      const { socket, received, closed } = await client(t, port)
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await waitFor('answer', () => received().includes('hello'))
      assert.deepEqual(await engine.drain(10_000), { cut: 0 })
      await closed
    })

    test('after its time the rest is cut and counted', async (t) => {
      const ended: boolean[] = []
      let count = 0
      const { engine, port } = await start(t, (exchange) => {
        exchange.onClosed((isAborted) => ended.push(isAborted))
        count++
      })
      const answers = [1, 2].map(() => fetchHttp(`http://127.0.0.1:${port}/`))
      const settled = Promise.allSettled(answers)
      await waitFor('two requests', () => count === 2)
      assert.deepEqual(await engine.drain(100), { cut: 2 })
      assert.deepEqual(ended, [true, true])
      assert.deepEqual(
        (await settled).map(({ status }) => status),
        ['rejected', 'rejected'],
      )
      assert.deepEqual([engine.connections, engine.inFlight], [0, 0])
    })

    test('a handler may cut the engine and answer after that', async (t) => {
      const { engine, port, problems } = await start(t, (exchange) => {
        engine.cut()
        exchange.respond(ok, Buffer.from('too late'))
        setImmediate(() => exchange.onClosed((isAborted) => problems.push(new Error(`aborted: ${isAborted}`))))
      })
      assert.equal(await fetchHttp(`http://127.0.0.1:${port}/`).catch(codeOf), 'ECONNRESET')
      await waitFor('end of the exchange', () => problems.length === 1)
      assert.deepEqual([problems[0]?.message, engine.inFlight], ['aborted: true', 0])
    })

    test('a stream may be aborted in the handler', async (t) => {
      const { engine, port } = await start(t, (exchange) => exchange.stream(ok, { length: 3 }).abort())
      assert.equal(await fetchHttp(`http://127.0.0.1:${port}/`).catch(codeOf), 'ECONNRESET')
      assert.equal(engine.inFlight, 0)
    })

    test('a cut during a drain ends it', async (t) => {
      let count = 0
      const { engine, port } = await start(t, () => count++)
      const answer = fetchHttp(`http://127.0.0.1:${port}/`).catch(codeOf)
      await waitFor('request', () => count === 1)
      const drained = engine.drain(60_000)
      engine.cut()
      await drained
      assert.equal(await answer, 'ECONNRESET')
    })
  })
}
