import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readTraffic, TopLists, TrafficTotals } from '@svc/telemetry'
import { ManualClock } from '@svc/testkit'
import { WorkerTraffic } from '../src/traffic/worker-traffic.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

interface Reported {
  readonly at: number
  readonly sites: ReadonlyMap<string, { readonly totals: TrafficTotals; readonly tops: TopLists }>
}

/** Collects the reports of a worker. */
function reportsOf(traffic: WorkerTraffic): Reported[] {
  const reports: Reported[] = []
  traffic.connect(async ({ at, bytes }) => {
    const sites = new Map<string, { totals: TrafficTotals; tops: TopLists }>()
    readTraffic(bytes, (written) => {
      const site = { totals: new TrafficTotals(), tops: new TopLists(64) }
      site.totals.addEncoded(written.totals)
      site.tops.addEncoded(written.tops)
      sites.set(written.site, site)
    })
    reports.push({ at, sites })
  })
  return reports
}

async function counted(server: PipelineServer) {
  const reports = reportsOf(server.traffic)
  await server.traffic.flush()
  assert.equal(reports.length, 1)
  const shopTraffic = reports[0]?.sites.get('shop')
  assert.ok(shopTraffic !== undefined)
  return shopTraffic
}

/** Answers everything, and offers it to L0. */
function serveAll(server: PipelineServer, cacheStatus = '', status = 200): void {
  server.intercept = (context) => {
    const label = context.site?.config.label ?? ''
    const expiresAt = server.clock.now() + 60_000
    const { path } = context.request
    context.offerToL0({ expiresAt, label, path, tags: [], seq: server.ledger.last, dependsOnCookies: false })
    context.cacheStatus = cacheStatus
    context.respond({ status, headers: [['content-type', 'text/plain']] }, Buffer.from('12345'))
    return 'answered'
  }
}

async function startServer(t: TestContext, more = ''): Promise<PipelineServer> {
  const server = await PipelineServer.start(t, [shop], more)
  serveAll(server)
  return server
}

test('requests are counted with their status, bytes, latency and cache', async (t) => {
  const server = await startServer(t)
  for (let i = 0; i < 5; i++) await server.get('/a?q=1')
  serveAll(server, 'svc-isr; hit; ttl=9')
  await server.get('/b')
  serveAll(server, 'svc-proxy; hit; ttl=9')
  await server.get('/c', { method: 'HEAD' })
  serveAll(server, 'svc-isr; fwd=stale', 503)
  await server.get('/d')
  serveAll(server, '', 404)
  await server.get('/e', { method: 'POST' })
  const { totals } = await counted(server)
  assert.equal(totals.requests, 9)
  assert.deepEqual([totals.status(2), totals.status(4), totals.status(5)], [7, 1, 1])
  assert.deepEqual([totals.hits('l0'), totals.hits('isr'), totals.hits('proxy'), totals.misses], [3, 1, 1, 3])
  assert.equal(totals.bytes, 5 * 5 + 5 + 0 + 5 + 5)
  assert.equal(totals.latency.count, 9)
})

test('paths come without queries, referrers as origins, and clients by their address, from L0 too', async (t) => {
  const server = await startServer(t)
  const headers = { referer: 'https://user:secret@Search.test:8443/find?q=private' }
  for (let i = 0; i < 6; i++) await server.get('/a?token=private', { headers, remoteAddress: '192.0.2.7' })
  await server.get('/a', { headers: { referer: 'http://shop.test/from' }, remoteAddress: '192.0.2.8' })
  await server.get('/a', { headers: { referer: 'data:text/html,x' }, remoteAddress: '192.0.2.8' })
  const { totals, tops } = await counted(server)
  assert.ok(totals.hits('l0') >= 4)
  assert.deepEqual(tops.paths.top(9), [{ name: '/a', count: 8 }])
  assert.deepEqual(tops.referrers.top(9), [{ name: 'https://search.test:8443', count: 6 }])
  assert.deepEqual(tops.clients.top(9), [
    { name: '192.0.2.7', count: 6 },
    { name: '192.0.2.8', count: 2 },
  ])
})

test('a hit of L0 that its client takes slowly is counted at its end', async (t) => {
  const server = await startServer(t)
  const ready = {
    find: (ask: Parameters<typeof server.l0.find>[0]) => server.l0.find(ask),
    sent: () => server.l0.sentLater()(false),
    sentLater: () => assert.fail(),
  }
  for (let i = 0; i < 3; i++) await server.get('/a', { ready })
  const { totals } = await counted(server)
  assert.deepEqual([totals.requests, totals.hits('l0'), totals.latency.count, totals.bytes], [3, 1, 3, 15])
})

test('a stream of events is counted without its latency', async (t) => {
  const server = await startServer(t)
  server.intercept = (context) => {
    const writer = context.streamCompressed({ status: 200, headers: [['content-type', 'text/event-stream']] })
    writer.end(Buffer.from('data: 1\n\n'))
    return 'answered'
  }
  await server.get('/events')
  const { totals } = await counted(server)
  assert.deepEqual([totals.requests, totals.latency.count], [1, 0])
})

test('the client is the one behind a trusted proxy', async (t) => {
  const server = await startServer(t, '[server]\ntrusted_proxies = ["192.0.2.0/24"]\n')
  const headers = { 'x-forwarded-for': '198.51.100.1' }
  for (let i = 0; i < 4; i++) await server.get('/a', { headers, remoteAddress: '192.0.2.7' })
  assert.deepEqual((await counted(server)).tops.clients.top(9), [{ name: '198.51.100.1', count: 4 }])
})

test('requests to no site, and to the endpoints of the service, are not counted', async (t) => {
  const server = await startServer(t)
  await server.get('/__svc/health')
  await server.get('/__svc/unknown')
  server.traffic.of('').record(200, 1, 1)
  const reports = reportsOf(server.traffic)
  await server.traffic.flush()
  assert.deepEqual(reports, [])
})

test('names of many requests are sampled, and stand for about as many', () => {
  const traffic = new WorkerTraffic(new ManualClock())
  const counter = traffic.of('shop')
  let named = 0
  let standFor = 0
  for (let i = 0; i < 100_000; i++) {
    const weight = counter.takeWeight()
    if (weight > 0) named++
    standFor += weight
    if (i === 59) assert.equal(named, 60, 'the first ones are all named')
  }
  assert.ok(named < 10_000, `${named} are named`)
  assert.ok(standFor <= 100_000 && standFor > 99_900, `they stand for ${standFor}`)
})

test('reports begin at multiples of five seconds, and a slow master gets one message at a time', async () => {
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:03.500Z'))
  const traffic = new WorkerTraffic(clock)
  const sent: number[] = []
  let accept: () => void = () => undefined
  traffic.connect(({ at }) => {
    sent.push(at)
    return new Promise<void>((resolve) => {
      accept = resolve
    })
  })
  const start = clock.now()
  traffic.of('shop').record(200, 1, 1)
  clock.advance(1_500)
  assert.deepEqual(sent, [start])
  traffic.of('shop').record(200, 1, 1)
  clock.advance(5_000)
  assert.equal(sent.length, 1)
  const flushed = traffic.flush()
  accept()
  await new Promise(setImmediate)
  assert.deepEqual(sent, [start, start + 1_500])
  accept()
  await flushed
})

test('the traffic of many sites takes several messages of bounded size, and none is lost', async () => {
  const traffic = new WorkerTraffic(new ManualClock())
  const sizes: number[] = []
  const sites = new Set<string>()
  traffic.connect(async ({ bytes }) => {
    sizes.push(bytes.byteLength)
    readTraffic(bytes, ({ site }) => sites.add(site))
  })
  for (let i = 0; i < 3_000; i++) {
    const counter = traffic.of(`site-${i}`)
    counter.record(200, 1, i % 400)
    for (let j = 0; j < 10; j++)
      counter.recordNames({ path: `/${'x'.repeat(40)}${j}`, referrer: undefined, origin: '', client: '' }, 1)
  }
  await traffic.flush()
  assert.equal(sites.size, 3_000)
  assert.ok(sizes.length > 1)
  for (const size of sizes) assert.ok(size < 512 * 1024, `${size} bytes`)
})

test('a counter that is kept counts on after its report, and a failed report does not stop the next', async () => {
  const traffic = new WorkerTraffic(new ManualClock())
  const counter = traffic.of('shop')
  let requests = 0
  let isFailing = true
  traffic.connect(async ({ bytes }) => {
    if (isFailing) throw new Error('the master is busy')
    readTraffic(bytes, ({ totals }) => {
      const sum = new TrafficTotals()
      sum.addEncoded(totals)
      requests += sum.requests
    })
  })
  counter.record(200, 1, 1)
  await traffic.flush()
  isFailing = false
  counter.record(200, 1, 1)
  counter.record(200, 1, 1)
  await traffic.flush()
  assert.equal(requests, 2)
})
