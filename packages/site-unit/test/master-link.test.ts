import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, createSocketChannel, type Handlers, RpcPeer, systemClock } from '@svc/core'
import { PROTOCOL_VERSION, unitMethods, unitParentMethods } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
import { type UnitHandlers, type UnitPeer, UnitServer } from '../../supervisor/src/own-site/unit-server.ts'
import { MasterLink } from '../src/master-link.ts'

const logger = createLogger({ level: 'silent', format: 'json', base: {} })
const token = 'of the site'

test('a unit that the server lets go of before it has followed waits longer each time', async (t) => {
  const path = join(tempDir(t, 'link'), 'units.sock')
  const server = new UnitServer({
    path,
    tokenOf: () => token,
    welcome: (_unit, peer) => {
      setImmediate(() => peer.close())
      return {} as UnitHandlers
    },
    onProblem: () => undefined,
    clock: systemClock,
  })
  await server.start()
  const waits: number[] = []
  const enough = Promise.withResolvers<void>()
  const clock: Clock = {
    ...systemClock,
    after(delayMs, task) {
      waits.push(delayMs)
      if (waits.length === 6) enough.resolve()
      return systemClock.after(0, task)
    },
  }
  const handlers = Object.fromEntries(Object.keys(unitMethods).map((name) => [name, () => undefined]))
  const link = new MasterLink({
    socket: path,
    site: 'a',
    token: async () => token,
    handlers: handlers as unknown as Handlers<typeof unitMethods>,
    onLost: () => undefined,
    clock,
    logger,
  })
  link.start()
  await enough.promise
  await link.close()
  await server.close()
  assert.deepEqual(waits.slice(0, 6), [100, 200, 400, 800, 1_000, 1_000])
})

for (const [what, end] of [
  ['is disconnected', (_server: UnitServer, peer: UnitPeer) => peer.close()],
  ['has to leave with the server', (server: UnitServer) => void server.close()],
] as const) {
  test(`the connection of a unit that has stopped reading and ${what} ends in both directions`, async (t) => {
    const path = join(tempDir(t, 'link'), 'units.sock')
    const welcomed = Promise.withResolvers<UnitPeer>()
    const server = new UnitServer({
      path,
      tokenOf: () => token,
      welcome: (_unit, peer) => {
        welcomed.resolve(peer)
        return {} as UnitHandlers
      },
      onProblem: () => undefined,
      clock: { ...systemClock, after: (_delayMs, task) => systemClock.after(0, task) },
    })
    await server.start()
    t.after(() => server.close())
    const socket = connect({ path, allowHalfOpen: true })
    t.after(() => socket.destroy())
    const lost = Promise.withResolvers<string>()
    socket.on('error', (error) => lost.resolve('code' in error ? String(error.code) : error.message))
    const handlers = Object.fromEntries(Object.keys(unitMethods).map((name) => [name, () => undefined]))
    const unit = new RpcPeer({
      channel: createSocketChannel(socket),
      local: unitMethods,
      handlers: handlers as unknown as Handlers<typeof unitMethods>,
      remote: unitParentMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'the server',
      onProblem: () => undefined,
    })
    await unit.call('hello', { site: 'a', token, pid: 1, version: '1' }, { timeoutMs: 60_000 })
    socket.pause()
    const peer = await welcomed.promise
    // More than the kernel buffers for a peer that does not read.
    for (let number = 0; number < 50_000; number++) peer.notify('purgeSettled', { number })
    end(server, peer)
    await waitFor(
      'the end of its own half',
      async () => {
        unit.notify('isolateLost', { site: 'a', reason: 'crash' })
        return (await Promise.race([lost.promise, undefined])) === 'EPIPE'
      },
      PROCESS_WAIT_MS,
    )
  })
}
