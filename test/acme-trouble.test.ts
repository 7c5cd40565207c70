// Campaign: faults of a certificate authority.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, type Server, waitFor } from '@svc/testkit'
import { AcmeServer, Refusal } from './acme/acme-server.ts'
import { issuedAt, reconfigure, restart, startWith, stateOf } from './acme/automatic-server.ts'

const HOUR_MS = 3_600_000

/** Failures that are noted on disk, by host. */
function failuresOf(server: Server): Record<string, { failures: number; retryAt: number; reason: string }> {
  return JSON.parse(readFileSync(join(stateOf(server), 'failures.json'), 'utf8'))
}

async function healthWith(server: Server, wanted: RegExp): Promise<void> {
  await waitFor(
    `health with ${wanted}`,
    async () => wanted.test((await fetchHttp(`${server.url}/__svc/health`)).text),
    PROCESS_WAIT_MS,
  )
}

/** From now on no order is answered. Resolves with the first that comes. */
function holdOrders(acme: AcmeServer): Promise<void> {
  const asked = Promise.withResolvers<void>()
  acme.onOrder = () => {
    asked.resolve()
    return new Promise<void>(() => undefined)
  }
  return asked.promise
}

describe('failures of automatic certificates', () => {
  test('an authority that has had enough is left alone as long as it says, and the account stays', async (t) => {
    const acme = await AcmeServer.start(t)
    const server = await startWith(t, acme, ['a.test'])
    await issuedAt(server, 'a.test')
    acme.onOrder = (host) => {
      if (host === 'b.test') throw new Refusal(429, 'rateLimited', 'too many certificates already issued for b.test', 2 * 3_600)
      throw new Refusal(503, 'serverInternal', 'closed for today', 5 * 3_600)
    }
    const startedAt = Date.now()
    await reconfigure(server, '"a.test"', '"a.test","b.test","c.test","d.test"')
    await healthWith(
      server,
      /b\.test: too many certificates.*no certificate for c\.test: closed for today.*d\.test: closed for today/,
    )
    const failures = failuresOf(server)
    assert.ok((failures['b.test']?.retryAt ?? 0) >= startedAt + 2 * HOUR_MS)
    assert.ok((failures['c.test']?.retryAt ?? 0) >= startedAt + 5 * HOUR_MS)
    assert.deepEqual(acme.orders, ['a.test', 'b.test', 'c.test'])
    assert.equal(acme.contacts.length, 1)
  })

  test('an account that has ordered too much asks for no other host either, not after a restart', async (t) => {
    const acme = await AcmeServer.start(t)
    acme.onOrder = () => {
      throw new Refusal(429, 'rateLimited', 'too many new orders from this account', 2 * 3_600)
    }
    const startedAt = Date.now()
    const server = await startWith(t, acme, ['a.test', 'b.test', 'c.test'])
    const told = /no certificate for a\.test: too many new orders.*no certificate for c\.test: too many new orders/
    await healthWith(server, told)
    assert.ok((failuresOf(server)['*']?.retryAt ?? 0) >= startedAt + 2 * HOUR_MS)
    assert.equal((await server.child.stop()).code, 0)
    const again = await restart(t, server.configFile ?? '')
    await healthWith(again, told)
    assert.deepEqual(acme.orders, ['a.test'])
    assert.equal((await again.child.stop()).code, 0)
  })

  test('an order whose host leaves the configuration is aborted, and is not a failure', async (t) => {
    const acme = await AcmeServer.start(t)
    const asked = Promise.withResolvers<void>()
    const never = new Promise<void>(() => undefined)
    acme.onOrder = (host) => {
      if (host !== 'a.test') return undefined
      asked.resolve()
      return never
    }
    const server = await startWith(t, acme, ['a.test'])
    await asked.promise
    assert.match(failuresOf(server)['a.test']?.reason ?? '', /the server ended/)
    await reconfigure(server, '"a.test"', '"b.test"')
    await issuedAt(server, 'b.test')
    assert.deepEqual(failuresOf(server), {})
    assert.deepEqual(acme.orders, ['a.test', 'b.test'])
  })

  test('a server that is killed in the middle of an order does not order again at once', async (t) => {
    const acme = await AcmeServer.start(t)
    const asked = holdOrders(acme)
    const server = await startWith(t, acme, ['a.test'])
    await asked
    await server.child.kill()
    const again = await restart(t, server.configFile ?? '')
    await healthWith(again, /no certificate for a\.test: the server ended during an order of a certificate/)
    assert.deepEqual(acme.orders, ['a.test'])
    assert.equal((await again.child.stop()).code, 0)
  })

  test('a server that ends in the middle of an order has not failed', async (t) => {
    const acme = await AcmeServer.start(t)
    const asked = holdOrders(acme)
    const server = await startWith(t, acme, ['a.test'])
    await asked
    assert.equal((await server.child.stop()).code, 0)
    assert.deepEqual(failuresOf(server), {})
  })
})
