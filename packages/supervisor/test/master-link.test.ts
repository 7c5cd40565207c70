import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, type Handlers, systemClock } from '@svc/core'
import { unitMethods } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { type UnitHandlers, UnitServer } from '../src/own-site/unit-server.ts'
import { MasterLink } from '../src/site-unit/master-link.ts'

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
