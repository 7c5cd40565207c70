import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { latencyBin, TrafficTotals, TrafficWriter } from '@svc/telemetry'
import { Analytics } from '../src/analytics/analytics.ts'
import { summaryOf } from '../src/master/summary.ts'
import { WatchedInstance } from './watched-instance.ts'

const toml = ['shop', 'blog'].map((id) => `[[sites]]\nid = "${id}"\nroot = "site"\nhostnames = ["${id}.test"]\n`).join('')

async function start(t: TestContext) {
  const instance = await WatchedInstance.start(t, toml)
  const { clock, logger, config } = instance
  const analytics = new Analytics({ stateDir: config.server.state_dir, clock, logger })
  analytics.start()
  t.after(() => analytics.close())
  // A full minute, and a bit of the next one.
  clock.stall(60_000 - (clock.now() % 60_000))
  const parts = { ...instance.parts, clock, startedAt: clock.monotonic() - 90_000, analytics }
  return { instance, parts, analytics }
}

/** Reports requests as a worker does: as many of each kind. */
function report(
  analytics: Analytics,
  at: number,
  site: string,
  kinds: Partial<Record<'l0' | 'isr' | 'proxy' | 'miss' | 'error', number>>,
) {
  const totals = new TrafficTotals()
  for (const [kind, count = 0] of Object.entries(kinds))
    for (let i = 0; i < count; i++) {
      totals.record(kind === 'error' ? 500 : 200, 10)
      totals.latency.record(latencyBin(kind === 'l0' ? 1 : 100))
      if (kind === 'l0' || kind === 'isr' || kind === 'proxy') totals.recordHit(kind)
      else totals.recordMiss()
    }
  const writer = new TrafficWriter(1)
  writer.add({ site, totals })
  analytics.add({ at, bytes: writer.take() })
}

test('a summary has the traffic of the last minute and of the last ten seconds', async (t) => {
  const { instance, parts, analytics } = await start(t)
  const from = instance.clock.now()
  report(analytics, from, 'shop', { l0: 50, isr: 20, proxy: 10, miss: 10, error: 10 })
  instance.clock.stall(55_000)
  report(analytics, from + 55_000, 'blog', { miss: 20 })
  report(analytics, from + 55_000, 'removed', { miss: 1_000 })
  instance.clock.stall(5_000)
  const { traffic, uptime_secs: uptime, sites, generation } = await summaryOf(parts, {})
  assert.deepEqual(traffic.requests_per_sec, { last_minute: 2, last_10_secs: 2 })
  assert.equal(traffic.error_ratio, 0.0833)
  assert.deepEqual(traffic.hit_ratio, { l0: 0.4167, isr: 0.1667, proxy: 0.0833 })
  assert.ok(Math.abs((traffic.p50_ms ?? 0) - 100) < 3 && Math.abs((traffic.p99_ms ?? 0) - 100) < 3)
  assert.deepEqual([uptime, generation], [150, 1])
  assert.deepEqual(sites, { total: 2, states: { ok: 2 } })
})

test('without traffic there are no ratios and no latencies', async (t) => {
  const { parts } = await start(t)
  const { traffic } = await summaryOf(parts, {})
  assert.deepEqual(traffic, {
    requests_per_sec: { last_minute: 0, last_10_secs: 0 },
    error_ratio: null,
    p50_ms: null,
    p95_ms: null,
    p99_ms: null,
    hit_ratio: null,
  })
})

test('processes and sites are counted by state, with the last reload, disks and memory', async (t) => {
  const { instance, parts } = await start(t)
  await instance.reload('nonsense')
  const [worker] = instance.workers
  assert.ok(worker !== undefined)
  worker.isStalled = true
  const { instance: whole } = await summaryOf(parts, {})
  assert.ok(whole !== undefined)
  assert.deepEqual(whole.workers, { total: 1, states: { ready: 1 } })
  assert.equal(whole.hosts.total, 1)
  assert.equal(whole.last_reload?.ok, false)
  assert.deepEqual(
    whole.disks.map(({ path }) => path),
    [instance.config.cache.dir, instance.config.server.state_dir],
  )
  assert.ok(whole.memory.resident_bytes > 1024 * 1024 && whole.memory.available_bytes > 0)
  assert.deepEqual(whole.missing, [])
})

test('the summary of a part of the sites has nothing of others', async (t) => {
  const { instance, parts, analytics } = await start(t)
  report(analytics, instance.clock.now(), 'shop', { miss: 60 })
  report(analytics, instance.clock.now(), 'blog', { error: 600 })
  instance.clock.stall(60_000)
  const summary = await summaryOf(parts, { sites: ['shop', 'nope'] })
  assert.deepEqual(summary.traffic.requests_per_sec.last_minute, 1)
  assert.equal(summary.traffic.error_ratio, 0)
  assert.deepEqual(summary.sites, { total: 1, states: { ok: 1 } })
  assert.equal(summary.instance, undefined)
})
