import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

/** Longer than a drain waits for idle connections. */
const IDLE_GRACE_MS = 300

interface BoundSocket {
  readonly fd: number
  bind(host: string, port: number): number
  getsockname(out: { port?: number }): number
}

/** Opens a socket that this process does not accept on: Node.js has no public way. */
function bindSocket(): { readonly fd: number; readonly port: number } {
  const { TCP, constants } = Reflect.get(process, 'binding')('tcp_wrap') as {
    TCP: new (type: number) => BoundSocket
    constants: { SERVER: number }
  }
  const socket = new TCP(constants.SERVER)
  assert.equal(socket.bind('127.0.0.1', 0), 0)
  const bound: { port?: number } = {}
  socket.getsockname(bound)
  return { fd: socket.fd, port: bound.port ?? 0 }
}

async function listening(t: TestContext, isTls: boolean) {
  const { engine } = await startEngine(t, 'node', (exchange) => exchange.respond({ status: 200, headers: [] }, Buffer.from('ok')))
  const { fd, port } = bindSocket()
  if (isTls) engine.prepareTls('shared', anyCertificate(t))()
  assert.equal(await engine.listen({ name: 'shared', host: '127.0.0.1', port, fd, isTls }), port)
  return { engine, port }
}

for (const isTls of [false, true]) {
  const scheme = isTls ? 'TLS' : 'plain HTTP'
  test(`a drain waits for the first request of a new connection, which the client cannot send again (${scheme})`, async (t) => {
    const { engine, port } = await listening(t, isTls)
    const client = isTls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1')
    t.after(() => client.destroy())
    await once(client, isTls ? 'secureConnect' : 'connect')
    await waitFor('the connection', () => engine.connections === 1, PROCESS_WAIT_MS)
    const startedAt = performance.now()
    const drained = engine.drain(60_000)
    await waitFor(
      'the end of the grace for idle connections',
      () => performance.now() - startedAt > IDLE_GRACE_MS,
      PROCESS_WAIT_MS,
    )
    let text = ''
    client.setEncoding('utf8').on('data', (data: string) => {
      text += data
    })
    client.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await once(client, 'close')
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*ok$/is)
    assert.deepEqual(await drained, { cut: 0 })
  })
}

test('a drain ends without the request of a connection that sends none', async (t) => {
  const { engine, port } = await listening(t, false)
  const [used, unused] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  t.after(() => [used, unused].map((socket) => socket.destroy()))
  used.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await once(used, 'data')
  await waitFor('both connections', () => engine.connections === 2, PROCESS_WAIT_MS)
  unused.resume()
  const ended = once(unused, 'close')
  assert.deepEqual(await engine.drain(60_000), { cut: 0 })
  await ended
})

test('idle connections hold up a drain of engine node less than one of engine uws, which does not tell when bytes have left', async (t) => {
  const ends = await Promise.all(
    (['uws', 'node'] as const).map(async (name) => {
      const { engine, port } = await startEngine(t, name, (exchange) => exchange.respond({ status: 200, headers: [] }))
      const client = connect(port, '127.0.0.1')
      t.after(() => client.destroy())
      client.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
      await once(client, 'data')
      return async () => {
        await engine.drain(60_000)
        return name
      }
    }),
  )
  assert.equal(await Promise.race(ends.map((drain) => drain())), 'node')
})
