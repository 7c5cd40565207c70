import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ServedAddress } from '@svc/protocol'
import { Child, type Cleanup, tempDir } from '@svc/testkit'
import { removeSockets } from '../../processes/src/directories/unix-socket.ts'
import { ReservedPorts } from '../src/listen/reserved-ports.ts'
import { addressUrl, checkStillFree, resolveListen } from '../src/listen/resolve-listen.ts'
import { takePort } from './harness.ts'

async function listening(
  t: Cleanup,
  where: { readonly path: string } | { readonly host: string; readonly port: number; readonly reusePort?: boolean },
): Promise<Server> {
  const server = createServer().listen(where)
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  await once(server, 'listening')
  return server
}

/** Reserved ports that are released at the end of the test. */
function portsOf(t: Cleanup): ReservedPorts {
  const ports = new ReservedPorts()
  t.after(() => ports.release())
  return ports
}

const plain = (name: string) => ({ name, isTls: false, engine: 'uws' as const })

test('an address is tried, and one that is open already is taken over with its port', async (t) => {
  const { port, release } = await takePort(t)
  await assert.rejects(resolveListen([plain(`127.0.0.1:${port}`)], [], portsOf(t)), {
    code: 'SUP_LISTEN',
    message: `cannot listen on 127.0.0.1:${port}: the port is in use`,
  })
  const held: ServedAddress = { name: '127.0.0.1:0', host: '127.0.0.1', port, isTls: false, engine: 'uws' }
  assert.deepEqual(await resolveListen([plain('127.0.0.1:0')], [held], portsOf(t)), [held])
  await release()
  const [first] = await resolveListen([plain('127.0.0.1:0')], [], portsOf(t))
  assert.equal(first?.host, '127.0.0.1')
  assert.ok((first?.port ?? 0) > 0)
})

test('port 0 twice is two ports, which a reload keeps', async (t) => {
  const names = [plain('127.0.0.1:0'), { name: '127.0.0.1:0#tls', isTls: true, engine: 'node' as const }]
  const first = await resolveListen(names, [], portsOf(t))
  const [one, two] = first
  assert.ok(one !== undefined && two !== undefined && one.port !== two.port)
  assert.deepEqual(first.map(addressUrl), [`http://127.0.0.1:${one.port}`, `https://127.0.0.1:${two.port}`])
  assert.deepEqual(await resolveListen([...names].reverse(), first, portsOf(t)), [two, one])
})

test('a port that was chosen for port 0 is free for workers alone, until it is released', async (t) => {
  const ports = portsOf(t)
  const [address] = await resolveListen([plain('127.0.0.1:0')], [], ports)
  const { port } = address ?? assert.fail('no address')
  const other = createServer().listen({ host: '127.0.0.1', port })
  await assert.rejects(once(other, 'listening'), { code: 'EADDRINUSE' })
  await listening(t, { host: '127.0.0.1', port, reusePort: true })
  await checkStillFree([{ ...(address ?? assert.fail()), name: 'new' }], [], ports)
  ports.release()
  assert.equal(ports.has(port), false)
})

test('before a commit new addresses are tried again, and those that are open are not', async (t) => {
  const { port, release } = await takePort(t)
  const address: ServedAddress = { name: `127.0.0.1:${port}`, host: '127.0.0.1', port, isTls: false, engine: 'uws' }
  await checkStillFree([address], [address], portsOf(t))
  await assert.rejects(checkStillFree([address], [], portsOf(t)), { code: 'SUP_LISTEN' })
  await release()
  await checkStillFree([address], [], portsOf(t))
})

test('an address within a wildcard of ours, or around one, is not tried', async (t) => {
  const server = await listening(t, { host: '0.0.0.0', port: 0 })
  const { port } = server.address() as AddressInfo
  const wildcard: ServedAddress = { name: `0.0.0.0:${port}`, host: '0.0.0.0', port, isTls: false, engine: 'uws' }
  const specific = { name: `127.0.0.1:${port}`, host: '127.0.0.1', port, isTls: false, engine: 'uws' as const }
  assert.deepEqual(await resolveListen([plain(specific.name)], [wildcard], portsOf(t)), [specific])
  assert.deepEqual(await resolveListen([plain(wildcard.name)], [specific], portsOf(t)), [wildcard])
  const named = { ...specific, name: `localhost:${port}`, host: 'localhost' }
  assert.deepEqual(await resolveListen([plain(named.name)], [specific], portsOf(t)), [named])
  assert.deepEqual(await resolveListen([plain(specific.name)], [named], portsOf(t)), [specific])
  await assert.rejects(resolveListen([plain(specific.name)], [], portsOf(t)), { code: 'SUP_LISTEN' })
})

test('an address does not change between plain HTTP and TLS while it is open', async (t) => {
  const held: ServedAddress = { name: '127.0.0.1:0', host: '127.0.0.1', port: 7, isTls: true, engine: 'uws' }
  await assert.rejects(resolveListen([plain('127.0.0.1:0')], [held], portsOf(t)), {
    message: '127.0.0.1:0 is served with TLS: it can change to plain HTTP only by a restart',
  })
  await assert.rejects(resolveListen([{ ...plain('127.0.0.1:0'), isTls: true }], [{ ...held, isTls: false }], portsOf(t)), {
    message: '127.0.0.1:0 is served with plain HTTP: it can change to TLS only by a restart',
  })
})

test('an address does not begin to expect the PROXY protocol while it is open', async (t) => {
  const held: ServedAddress = { name: '127.0.0.1:0', host: '127.0.0.1', port: 7, isTls: false, engine: 'node' }
  const wanted = { ...plain(held.name), engine: 'node' as const }
  await assert.rejects(resolveListen([{ ...wanted, isProxied: true }], [held], portsOf(t)), {
    message: '127.0.0.1:0 is served with plain connections: it can change to the PROXY protocol only by a restart',
  })
  assert.deepEqual(await resolveListen([wanted], [{ ...held, isProxied: false }], portsOf(t)), [{ ...held, isProxied: false }])
})

test('an open address changes its engine in place, except a unix socket and those of the service manager', async (t) => {
  const onNode = (name: string) => ({ ...plain(name), engine: 'node' as const })
  const held: ServedAddress = { ...plain('127.0.0.1:0'), host: '127.0.0.1', port: 7 }
  assert.deepEqual(await resolveListen([onNode(held.name)], [held], portsOf(t)), [{ ...held, engine: 'node' }])
  const inherited: ServedAddress = { ...held, fd: 5, engine: 'node' }
  assert.deepEqual(await resolveListen([plain(held.name)], [inherited], portsOf(t)), [inherited])
  const socket: ServedAddress = { ...plain('unix:/s'), host: '', port: 0, socket: '/s' }
  assert.deepEqual(await resolveListen([plain(socket.name)], [socket], portsOf(t)), [socket])
  await assert.rejects(resolveListen([onNode(socket.name)], [socket], portsOf(t)), {
    message: 'unix:/s is served by engine uws: it can change to engine node only by a restart',
  })
})

test('the socket of a server that was killed is removed; one in use and other files are not', async (t) => {
  const dir = tempDir(t, 'listen')
  const [stale, used, file, free] = ['stale', 'used', 'file', 'free'].map((name) => join(dir, name))
  assert.ok(stale !== undefined && used !== undefined && file !== undefined && free !== undefined)
  const program = `require('node:net').createServer().listen(${JSON.stringify(stale)}, () => console.log('listening'))`
  const child = new Child(t, process.execPath, ['-e', program])
  await child.waitForLine('the socket', (line) => line === 'listening')
  await child.kill()
  assert.ok(existsSync(stale))
  await listening(t, { path: used })
  writeFileSync(file, 'kept')

  const names = [stale, free].map((path) => plain(`unix:${path}`))
  assert.deepEqual(await resolveListen(names, [], portsOf(t)), [
    { name: `unix:${stale}`, host: '', port: 0, socket: stale, isTls: false, engine: 'uws' },
    { name: `unix:${free}`, host: '', port: 0, socket: free, isTls: false, engine: 'uws' },
  ])
  assert.ok(!existsSync(stale))
  await assert.rejects(resolveListen([plain(`unix:${used}`)], [], portsOf(t)), {
    message: `cannot listen on unix:${used}: the socket is in use`,
  })
  await assert.rejects(resolveListen([plain(`unix:${file}`)], [], portsOf(t)), {
    message: `cannot listen on unix:${file}: the path is a file of another kind`,
  })
  assert.ok(existsSync(used) && existsSync(file))
})

test('sockets that are no longer listened on are removed, unless another process listens there', async (t) => {
  const dir = tempDir(t, 'listen')
  const address = (name: string): ServedAddress => ({
    name,
    host: '',
    port: 0,
    socket: join(dir, name),
    isTls: false,
    engine: 'uws',
  })
  await listening(t, { path: join(dir, 'theirs') })
  writeFileSync(join(dir, 'file'), '')
  const tcp: ServedAddress = { name: '127.0.0.1:1', host: '127.0.0.1', port: 1, engine: 'uws' }
  const program = `for (const name of ['gone', 'kept']) require('node:net').createServer().listen(${JSON.stringify(`${dir}/`)} + name, () => console.log(name))`
  const child = new Child(t, process.execPath, ['-e', program])
  for (const name of ['gone', 'kept']) await child.waitForLine(name, (line) => line === name)
  await child.kill()
  const left = [...['gone', 'kept', 'theirs', 'file', 'missing'].map(address), tcp]
  await removeSockets(left, [address('kept')])
  assert.deepEqual(
    ['gone', 'kept', 'theirs', 'file'].filter((name) => existsSync(join(dir, name))),
    ['kept', 'theirs', 'file'],
  )
})

test('addresses are shown as URLs', () => {
  assert.equal(addressUrl({ name: 'a', host: '::1', port: 80 }), 'http://[::1]:80')
  assert.equal(addressUrl({ name: 'a', host: '10.0.0.1', port: 443, isTls: true }), 'https://10.0.0.1:443')
  assert.equal(addressUrl({ name: 'a', host: '', port: 0, socket: '/run/a.sock' }), 'http://unix:/run/a.sock')
})
