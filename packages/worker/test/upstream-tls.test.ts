import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { systemClock } from '@svc/core'
import { waitFor } from '@svc/testkit'
import { makeCertificate } from '../../engine/test/test-certificates.ts'
import { AddressBook } from '../../upstream/src/http/addresses.ts'
import { dial } from '../../upstream/src/http/dial.ts'
import { ask, groupOf, originFor, server, startRaw } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

const MB = 1024 * 1024

/** An upstream behind TLS that answers with the name it was asked for in the handshake. */
async function startTls(
  t: TestContext,
  answer = (name: string) => Buffer.from(name),
): Promise<{ port: number; connections: () => number }> {
  const { certFile, keyFile } = makeCertificate(t, 'up.test', ['up.test'])
  const upstream = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
    response.end(answer(String((request.socket as TLSSocket).servername)))
  })
  let connections = 0
  upstream.on('secureConnection', () => connections++)
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const bound = upstream.address()
  return { port: typeof bound === 'object' ? (bound?.port ?? 0) : 0, connections: () => connections }
}

test('TLS: SNI is sent, connections are kept, and the certificate is only verified on demand', async (t) => {
  const { port, connections } = await startTls(t)
  const spec = groupOf([server(`127.0.0.1:${port}`)])
  const trusting = originFor(t, spec, { tls: { serverName: 'up.test', isVerified: false } })
  for (let round = 0; round < 3; round++) assert.equal((await ask(trusting)).body, 'up.test')
  assert.equal(connections(), 1)
  const nameless = originFor(t, spec, { tls: { serverName: undefined, isVerified: false } })
  assert.equal((await ask(nameless)).body, 'false')
  const careful = originFor(t, spec, { tls: { serverName: 'up.test', isVerified: true } })
  assert.equal((await ask(careful)).error?.code, 'UPSTREAM_UNREACHABLE')
})

test('TLS: large answers come whole, with a receiver that slows them down', async (t) => {
  const body = Buffer.alloc(8 * MB, 'x')
  const { port } = await startTls(t, () => body)
  const origin = originFor(t, groupOf([server(`127.0.0.1:${port}`)]), { tls: { serverName: 'up.test', isVerified: false } })
  assert.equal((await ask(origin)).body.length, body.length)
})

test('TLS: a server that speaks none cannot be reached', async (t) => {
  const plain = await startRaw(t, () => undefined, { onConnection: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\n') })
  const origin = originFor(t, groupOf([server(plain.address)]), { tls: { serverName: 'up.test', isVerified: false } })
  assert.equal((await ask(origin)).error?.code, 'UPSTREAM_UNREACHABLE')
})

test('TLS: proxy_pass https', async (t) => {
  const { port } = await startTls(t)
  const proxy = await startProxy(
    t,
    'location / { proxy_pass https://grouped; proxy_ssl_server_name on; } location /nameless { proxy_pass https://grouped; }',
    {
      outside: `upstream grouped { server 127.0.0.1:${port}; }`,
    },
  )
  const response = await fetch(`http://127.0.0.1:${proxy.port}/`)
  assert.equal(await response.text(), 'grouped')
  assert.equal(await (await fetch(`http://127.0.0.1:${proxy.port}/nameless`)).text(), 'false')
})

test('names: addresses are cached, resolved once at a time, and resolved again when none of them answered', async () => {
  let now = 0
  const asked: string[] = []
  const gate = Promise.withResolvers<void>()
  const book = new AddressBook({ monotonic: () => now }, async (host) => {
    asked.push(host)
    await gate.promise
    return ['127.0.0.1']
  })
  assert.deepEqual(book.known('::1'), ['::1'])
  const both = Promise.all([book.find('a.test'), book.find('a.test')])
  gate.resolve()
  assert.deepEqual(await both, [['127.0.0.1'], ['127.0.0.1']])
  await book.find('a.test')
  assert.equal(asked.length, 1)
  now = 30_001
  await book.find('a.test')
  book.forget('a.test')
  await book.find('a.test')
  assert.equal(asked.length, 3)
})

test('names: cached addresses stay valid while the resolver fails, but not when it reports an unknown name', async () => {
  let code: string | undefined
  const book = new AddressBook(systemClock, async () => {
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    return ['127.0.0.1']
  })
  await book.find('a.test')
  book.forget('a.test')
  code = 'EAI_AGAIN'
  assert.deepEqual(await book.find('a.test'), ['127.0.0.1'])
  assert.deepEqual(book.known('a.test'), ['127.0.0.1'])
  await assert.rejects(book.find('b.test'), /EAI_AGAIN/)
  book.forget('a.test')
  code = 'ENOTFOUND'
  await assert.rejects(book.find('a.test'), /ENOTFOUND/)
  code = 'EAI_AGAIN'
  await assert.rejects(book.find('a.test'), /EAI_AGAIN/)
})

test('names: every address is tried; a name that is not resolved in time fails', async (t) => {
  const up = await startRaw(t, () => undefined)
  const port = Number(up.address.split(':')[1])
  const options = (book: AddressBook, timeoutMs: number) => ({
    transport: { server: { kind: 'port', host: 'many.test', port } as const, tls: undefined },
    addresses: book,
    timeoutMs,
    onread: undefined,
  })
  const many = new AddressBook(systemClock, async () => ['127.0.0.2', '::1', '127.0.0.1'])
  const connected = Promise.withResolvers<string | undefined>()
  dial(options(many, 60_000), {
    connected: (socket) => {
      connected.resolve(socket.remoteAddress)
      socket.destroy()
    },
    failed: connected.reject,
  })
  assert.equal(await connected.promise, '127.0.0.1')
  // Those that did not answer cost no time again, also after another look-up of the name.
  assert.deepEqual(many.known('many.test'), ['127.0.0.1', '127.0.0.2', '::1'])
  many.forget('many.test')
  assert.deepEqual(await many.find('many.test'), ['127.0.0.1', '127.0.0.2', '::1'])
  const failed = Promise.withResolvers<{ code?: string }>()
  const never = new AddressBook(systemClock, () => Promise.withResolvers<string[]>().promise)
  dial(options(never, 20), { connected: () => failed.reject(new Error('connected')), failed: failed.resolve })
  assert.equal((await failed.promise).code, 'UPSTREAM_TIMEOUT')
})

test('names: an aborted dial calls no listener, and leaves no connection', async (t) => {
  const up = await startRaw(t, () => undefined)
  const [host = '', port] = up.address.split(':')
  const told: string[] = []
  const dialing = dial(
    {
      transport: { server: { kind: 'port', host, port: Number(port) }, tls: undefined },
      addresses: new AddressBook(systemClock),
      timeoutMs: 60_000,
      onread: undefined,
    },
    { connected: () => told.push('connected'), failed: () => told.push('failed') },
  )
  dialing.abort()
  // Another connection, made later, is through: the first one would have been.
  const origin = originFor(t, groupOf([server(up.address)]), { timeouts: { connectMs: 60_000, sendMs: 60_000, readMs: 20 } })
  await ask(origin)
  await waitFor('the connection to be gone', () => up.connections.filter(({ isClosed }) => !isClosed).length === 0)
  assert.deepEqual(told, [])
})
