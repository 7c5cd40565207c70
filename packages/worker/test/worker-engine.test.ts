import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import type { HttpExchange } from '@svc/http'
import { talk } from '@svc/testkit'
import { type EngineName, startEngine } from '../../engine/test/start-engine.ts'
import { anyCertificate, makeCertificate } from '../../engine/test/test-certificates.ts'
import { WorkerEngine } from '../src/generation/worker-engine.ts'

type ListenSpec = Parameters<WorkerEngine['prepare']>[0]

async function takePort(t: TestContext): Promise<{ readonly port: number; release(): Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()))
  t.after(release)
  return { port: (server.address() as AddressInfo).port, release }
}

/** True if a connection is accepted on a port. */
function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => resolve(false)).on('connect', () => resolve(true))
    socket.on('connect', () => socket.destroy())
  })
}

function spec(generation: number, ports: readonly number[], engine: EngineName = 'uws'): ListenSpec {
  return {
    generation,
    listen: ports.map((port) => ({ name: `127.0.0.1:${port}`, host: '127.0.0.1', port, isTls: false, engine })),
    tls: {},
  }
}

for (const name of ['uws', 'node'] as const) {
  test(`engine ${name}: an address is open from the commit on, never before, and not after it has left`, async (t) => {
    const { engine } = await startEngine(t, name, () => undefined)
    const problems: Error[] = []
    const addresses = new WorkerEngine(
      async () => engine,
      (error) => problems.push(error),
    )
    const [first, second] = [await takePort(t), await takePort(t)]
    await first.release()
    await addresses.prepare(spec(1, [first.port]))
    await addresses.open(spec(1, [first.port]))
    addresses.serve(spec(1, [first.port]))
    assert.equal(await isOpen(first.port), true)
    await second.release()
    const both = spec(2, [first.port, second.port])
    await addresses.prepare(both)
    assert.equal(await isOpen(second.port), false)
    addresses.abandon(2)
    assert.equal(await isOpen(second.port), false)
    const next = { ...both, generation: 3 }
    await addresses.prepare(next)
    await addresses.open(next)
    addresses.serve(next)
    assert.equal(await isOpen(second.port), true)
    const last = spec(4, [second.port])
    await addresses.prepare(last)
    await addresses.open(last)
    assert.equal(await isOpen(first.port), true)
    addresses.serve(last)
    assert.equal(await isOpen(first.port), false)
    assert.deepEqual(problems, [])
  })

  test(`engine ${name}: an address that is taken ends the first generation, and is reported and tried again by later ones`, async (t) => {
    const { engine } = await startEngine(t, name, () => undefined)
    const problems: Error[] = []
    const addresses = new WorkerEngine(
      async () => engine,
      (error) => problems.push(error),
    )
    const [free, taken] = [await takePort(t), await takePort(t)]
    const open = async (next: ListenSpec) => {
      await addresses.prepare(next)
      await addresses.open(next)
    }
    await assert.rejects(open(spec(1, [taken.port])), { code: 'ENGINE_ADDRESS_IN_USE' })
    await free.release()
    await open(spec(1, [free.port]))
    await open(spec(2, [free.port, taken.port]))
    assert.deepEqual(
      problems.map((error) => 'code' in error && error.code),
      ['ENGINE_ADDRESS_IN_USE'],
    )
    assert.equal(await isOpen(free.port), true)
    await taken.release()
    await open(spec(3, [free.port, taken.port]))
    assert.equal(await isOpen(taken.port), true)
  })
}

test('certificates are put in force once: before a new address opens, at the commit of one that is open', async (t) => {
  const done: string[] = []
  const engine = {
    prepareTls:
      (address: string, { fallback }: { readonly fallback: string }) =>
      () =>
        void done.push(`${fallback} at ${address}`),
    listen: async ({ name }: { readonly name: string }) => done.push(`open ${name}`),
    unlisten: (address: string) => void done.push(`close ${address}`),
    ...{ tlsRebuilds: 0, lostBytes: 0, connections: 0, accepted: 0, inFlight: 0 },
    drain: async () => ({ cut: 0 }),
    cut: () => undefined,
  }
  const addresses = new WorkerEngine(
    async () => engine,
    (error) => assert.fail(error),
  )
  const [one, two] = [
    anyCertificate(t),
    { ...anyCertificate(t), ...{ certificates: [makeCertificate(t, 'two', ['b.test'])], fallback: 'two' } },
  ]
  const of = (generation: number, tls: typeof one, names: readonly string[]): ListenSpec => ({
    generation,
    listen: names.map((address) => ({ name: address, host: '127.0.0.1', port: 1, isTls: true, engine: 'node' })),
    tls: Object.fromEntries(names.map((address) => [address, tls])),
  })
  for (const next of [of(1, one, ['a']), of(2, two, ['a', 'b']), of(3, two, ['b'])]) {
    await addresses.prepare(next)
    await addresses.open(next)
    addresses.serve(next)
  }
  assert.deepEqual(done, ['any at a', 'open a', 'two at b', 'open b', 'two at a', 'two at b', 'close a'])
})

test('each address is served by its engine, and the counts are those of both', async () => {
  const done: string[] = []
  const engineOf = (own: string) => ({
    prepareTls: () => () => undefined,
    listen: async ({ name }: { readonly name: string }) => done.push(`${own} opens ${name}`),
    unlisten: () => undefined,
    ...{ tlsRebuilds: 0, lostBytes: 1, connections: 2, accepted: 5, inFlight: 3 },
    drain: async () => ({ cut: 4 }),
    cut: () => void done.push(`${own} cuts`),
  })
  const addresses = new WorkerEngine(
    async (own) => engineOf(own),
    (error) => assert.fail(error),
  )
  const listen = [
    { name: 'a', host: '127.0.0.1', port: 1, engine: 'uws' },
    { name: 'b', host: '127.0.0.1', port: 2, engine: 'node' },
  ] as const
  for (const generation of [1, 2]) {
    await addresses.prepare({ generation, listen, tls: {} })
    await addresses.open({ generation, listen, tls: {} })
  }
  addresses.cut()
  assert.deepEqual(done, ['uws opens a', 'node opens b', 'uws cuts', 'node cuts'])
  const { connections, accepted, inFlight } = addresses
  assert.deepEqual([connections, accepted, inFlight, await addresses.drain(1)], [4, 10, 6, { cut: 8 }])
})

const answer = (text: string) => (exchange: HttpExchange) => exchange.respond({ status: 200, headers: [] }, Buffer.from(text))

test('an address changes its engine without a moment in which it is closed, and keeps the old one while the new one fails', async (t) => {
  const running = {
    uws: await startEngine(t, 'uws', answer('uws')),
    node: await startEngine(t, 'node', answer('node')),
  }
  const problems: Error[] = []
  const addresses = new WorkerEngine(
    async (name) => running[name].engine,
    (error) => problems.push(error),
  )
  const { port, release } = await takePort(t)
  await release()
  const tls = anyCertificate(t)
  const of = (generation: number, engine: EngineName): ListenSpec => ({
    generation,
    listen: [{ name: 'a', host: '127.0.0.1', port, isTls: true, engine }],
    tls: { a: tls },
  })
  const open = async (next: ListenSpec) => {
    await addresses.prepare(next)
    await addresses.open(next)
  }
  const ask = async () => {
    const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    return /[a-z]+$/.exec(await talk(socket, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'))?.[0]
  }
  await open(of(1, 'uws'))
  addresses.serve(of(1, 'uws'))
  assert.equal(await ask(), 'uws')
  const idle = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(idle, 'secureConnect')
  await open(of(2, 'node'))
  addresses.serve(of(2, 'node'))
  for (const _ of [1, 2, 3]) assert.equal(await ask(), 'node')
  // A connection that the address had before lives on.
  assert.match(await talk(idle, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'), /uws$/)
  await addresses.prepare(of(3, 'uws'))
  running.uws.engine.listen = async () => Promise.reject(new Error('no port'))
  await addresses.open(of(3, 'uws'))
  addresses.serve(of(3, 'uws'))
  assert.deepEqual([problems.map(({ message }) => message), await ask()], [['no port'], 'node'])
})
