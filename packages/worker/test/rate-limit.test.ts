import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Slice } from '@svc/protocol'
import { PipelineServer, shop } from './pipeline-server.ts'

const limit = '[rate_limit]\nenabled = true\nrequests_per_minute = 60\n'
const usedUp: Slice = { requests: 0, second: 0, isShared: false, validMs: 1_000, left: 0, retryMs: 30_000 }
const files = { 'public/a.txt': 'a', 'public/health': 'of the site' }

/** Statuses of requests by a client, one after the other. */
async function statusesOf(server: PipelineServer, count: number, remoteAddress: string, url = '/a.txt'): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i++) {
    statuses.push((await server.get(url, { remoteAddress })).status)
    // The order of the first one leaves with the turn.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return statuses
}

test('a client passes once ahead of the count; others of its /64 are the same client', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files }], limit)
  server.slices = async (orders) => orders.map(() => usedUp)
  assert.deepEqual(await statusesOf(server, 2, '2001:db8::1'), [200, 429])
  assert.deepEqual(await statusesOf(server, 1, '2001:db8::ffff:2'), [429])
  assert.deepEqual(await statusesOf(server, 2, '2001:db8:0:1::1'), [200, 429])
  assert.deepEqual(await server.metric('svc_rate_limit_refused_total'), { '': 3 })
})

test('a refusal says when to come back, as a page to a browser', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files }], limit)
  server.slices = async (orders) => orders.map(() => usedUp)
  const [remoteAddress] = ['192.0.2.1']
  await statusesOf(server, 1, remoteAddress)
  const { status, headers } = await server.get('/a.txt', { remoteAddress, headers: { accept: 'text/html' } })
  assert.deepEqual(
    [status, headers['retry-after'], headers['ratelimit-policy'], headers['ratelimit']],
    [429, '30', '"default";q=60;w=60', '"default";r=0;t=30'],
  )
  assert.match(String(headers['content-type']), /^text\/html/)
  assert.equal(headers['cache-control'], 'no-store')
})

test('requests wait for the master no longer than 20 ms, then this worker hands out its part of the budget', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files }], `[server]\nworkers = 30\n${limit}`)
  server.slices = () => new Promise(() => undefined)
  // Ahead of the count, one for this second, and a thirtieth of the budget.
  assert.deepEqual(await statusesOf(server, 5, '192.0.2.1'), [200, 200, 200, 200, 429])
  server.clock.advance(1_000)
  assert.deepEqual(await statusesOf(server, 2, '192.0.2.1'), [200, 429])
  server.clock.advance(61_000)
  assert.deepEqual(await statusesOf(server, 4, '192.0.2.1'), [200, 200, 200, 429])
  assert.deepEqual(await server.metric('svc_rate_limit_local_decisions_total'), { '': 10 })
})

test('requests that passed while the master failed are counted by the order that reaches it', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files }], limit)
  server.slices = () => Promise.reject(new Error('the master is busy'))
  assert.deepEqual(await statusesOf(server, 2, '192.0.2.1'), [200, 200])
  const passed: number[] = []
  server.slices = async (orders) => {
    passed.push(...orders.map((order) => order.passed))
    return orders.map(() => usedUp)
  }
  assert.deepEqual(await statusesOf(server, 1, '192.0.2.1'), [429])
  assert.deepEqual(passed, [2])
})

test('the address that a trusted proxy names is the client; a client that is not trusted names nothing', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files }], `[server]\ntrusted_proxies = ["10.0.0.1"]\n${limit}`)
  server.slices = async (orders) => orders.map(() => usedUp)
  const statusOf = async (remoteAddress: string, named: string) => {
    const { status } = await server.get('/a.txt', { remoteAddress, headers: { 'x-forwarded-for': named } })
    await new Promise((resolve) => setImmediate(resolve))
    return status
  }
  assert.deepEqual([await statusOf('10.0.0.1', '192.0.2.1'), await statusOf('10.0.0.1', '192.0.2.1')], [200, 429])
  assert.equal(await statusOf('10.0.0.1', '192.0.2.2'), 200)
  assert.deepEqual([await statusOf('192.0.2.9', '192.0.2.3'), await statusOf('192.0.2.9', '192.0.2.4')], [200, 429])
})

test('probes are not limited, but a path of the site that looks like one is', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files: { 'public/a.txt': 'a' } }], limit)
  server.slices = async (orders) => orders.map(() => usedUp)
  assert.deepEqual(await statusesOf(server, 3, '192.0.2.1', '/health'), [200, 200, 200])
  assert.deepEqual(await statusesOf(server, 3, '192.0.2.1', '/__svc/health'), [200, 200, 200])
  await server.reload([{ ...shop, files }], limit)
  assert.deepEqual(await statusesOf(server, 2, '192.0.2.2', '/health'), [200, 429])
})

test('a request that L0 lets pass and has no response for counts once', async (t) => {
  const server = await PipelineServer.start(t, [{ ...shop, files }], limit)
  let left = 3
  server.slices = async (orders) =>
    orders.map(({ passed, waiting }) => {
      left -= passed
      const requests = Math.min(left, waiting)
      left -= requests
      return { ...usedUp, requests, left }
    })
  assert.deepEqual(await statusesOf(server, 4, '192.0.2.1', '/missing'), [404, 404, 404, 429])
})

test('a response that L0 has is refused as any other', async (t) => {
  const server = await PipelineServer.start(t, [shop], limit)
  server.intercept = (context) => {
    const { path } = context.request
    const expiresAt = server.clock.now() + 60_000
    context.offerToL0({ expiresAt, label: 'shop', path, tags: [], seq: server.ledger.last, dependsOnCookies: false })
    context.respond({ status: 200, headers: [['content-type', 'text/plain']] }, Buffer.from('a'))
    return 'answered'
  }
  assert.deepEqual(await statusesOf(server, 3, '192.0.2.1'), [200, 200, 200])
  assert.deepEqual(await server.metric('svc_l0_hits_total'), { '': 1 })
  server.slices = async (orders) => orders.map(() => usedUp)
  assert.deepEqual(await statusesOf(server, 2, '192.0.2.2'), [200, 429])
})

test('clients without an address, and those of exempt networks, have no limit', async (t) => {
  const exempt = `${limit}exempt = ["192.0.2.0/24", "2001:db8::/32"]\n`
  const server = await PipelineServer.start(t, [{ ...shop, files }], exempt)
  server.slices = async (orders) => orders.map(() => usedUp)
  for (const address of ['192.0.2.7', '2001:db8:1::1', ''])
    assert.deepEqual(await statusesOf(server, 3, address), [200, 200, 200])
  assert.deepEqual(await statusesOf(server, 2, '198.51.100.1'), [200, 429])
})
