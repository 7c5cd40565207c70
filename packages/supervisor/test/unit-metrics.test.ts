import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDataCounts, addProcessMetrics, MetricSet, mergeMetrics, RenderMetrics } from '@svc/telemetry'
import { UnitMetrics } from '../src/own-site/unit-metrics.ts'

const options = { timeoutMs: 1_000 }

/** The metrics of a unit that sends this. */
function unitThatSends(answer: { metrics: unknown }) {
  const unit = new UnitMetrics({ call: async () => answer })
  return async () => {
    const { metrics } = await unit.peer.call('metrics', undefined, options)
    return mergeMetrics([metrics as never])
  }
}

test('the metrics of a unit are those of its render host', async () => {
  const metrics = new MetricSet()
  const render = new RenderMetrics(metrics, () => ({ active: 2, idle: 3 }))
  render.duration.observe(0.02)
  render.oomKills.value = 4
  addDataCounts(metrics).misses.value = 5
  addProcessMetrics(metrics)
  const [text, sent] = [await unitThatSends({ metrics: metrics.toJson() })(), await mergeMetrics([metrics.toJson()])]
  const linesOf = (all: string) =>
    all
      .split('\n')
      .filter((line) => !line.startsWith('process_'))
      .sort()
  assert.deepEqual(linesOf(text), linesOf(sent))
  assert.match(text, /^process_resident_memory_bytes [1-9]/m)
})

test('a hostile unit adds no metric, no label, no type and no line of its own', async () => {
  const calm = await unitThatSends({ metrics: [] })()
  const labels = { site: 'shop' }
  const hostile: unknown[] = [
    undefined,
    null,
    'text',
    {},
    [null, 1, [], { name: 'render_pool_total' }, { name: 'render_pool_total', values: 'x' }],
    [{ name: 'http_requests_total', type: 'counter', help: 'x', aggregator: 'sum', values: [{ labels: {}, value: 1 }] }],
    [{ name: 'render_pool_total', type: 'counter', help: 'x\nx 1', aggregator: 'omit', values: [{ labels, value: 1 }] }],
    [{ name: 'render_pool_total', values: [{ metricName: 'up 1\nhttp_requests_total', labels: {}, value: 1 }] }],
    [
      {
        name: 'render_pool_total',
        values: [Number.NaN, -1, 2 ** 60, Number.POSITIVE_INFINITY, '1', null].map((value) => ({ labels: {}, value })),
      },
    ],
    [{ name: 'render_pool_total', values: [null, { value: 1 }, { labels: null, value: 1 }, { labels: 'x', value: 1 }] }],
    Array.from({ length: 1000 }, (_, i) => ({ name: `x${i}`, values: [{ labels: {}, value: 1 }] })),
  ]
  for (const metrics of hostile) assert.equal(await unitThatSends({ metrics })(), calm, JSON.stringify(metrics)?.slice(0, 200))
})

test('a unit cannot take back counts, and its gauges may fall', async () => {
  const family = (name: string, value: number) => ({ name, values: [{ labels: {}, value }] })
  const answer = { metrics: [family('render_oom_kills_total', 7), family('render_pool_active', 7)] }
  const text = unitThatSends(answer)
  await text()
  answer.metrics = [family('render_oom_kills_total', 2), family('render_pool_active', 2)]
  const after = await text()
  assert.match(after, /^render_oom_kills_total 7$/m)
  assert.match(after, /^render_pool_active 2$/m)
})
