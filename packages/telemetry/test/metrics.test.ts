import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addCacheEntries,
  addDataCounts,
  addProcessMetrics,
  addUptimeMetric,
  CacheMetrics,
  HttpMetrics,
  keepTotals,
  L0Metrics,
  MetricSet,
  mergeMetrics,
  NumberFamily,
  RenderMetrics,
} from '../src/index.ts'

const lineOf = (text: string, start: string) => text.split('\n').find((line) => line.startsWith(start))

test('names, types, labels and buckets are those of the reference', async () => {
  const metrics = new MetricSet()
  const http = new HttpMetrics(metrics)
  http.series('GET', '/blog/[slug]').record(200, 30, 0, 5000)
  new CacheMetrics(metrics).hits.l1.value++
  addCacheEntries(metrics, { l1: () => 7 })
  new L0Metrics(metrics, () => ({ entries: 3, bytes: 4096, evictions: 5 })).hits.value++
  new RenderMetrics(metrics, () => ({ active: 2, idle: 3 })).oomKills.value++
  addProcessMetrics(metrics)
  addUptimeMetric(metrics)
  addDataCounts(metrics).hits.value++
  const text = await mergeMetrics([metrics.toJson()])
  const types = Object.fromEntries([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
  assert.deepEqual(types, {
    http_requests_total: 'counter',
    http_request_duration_seconds: 'histogram',
    http_request_size_bytes: 'histogram',
    http_response_size_bytes: 'histogram',
    http_active_connections: 'gauge',
    svc_http_connections_total: 'counter',
    svc_http_requests_in_flight: 'gauge',
    cache_hits_total: 'counter',
    cache_misses_total: 'counter',
    cache_evictions_total: 'counter',
    cache_stampede_coalesced_total: 'counter',
    isr_revalidations_total: 'counter',
    svc_proxy_hits_total: 'counter',
    svc_proxy_misses_total: 'counter',
    cache_entries: 'gauge',
    svc_l0_hits_total: 'counter',
    svc_l0_misses_total: 'counter',
    svc_l0_entries: 'gauge',
    svc_l0_bytes: 'gauge',
    svc_l0_evictions_total: 'counter',
    render_pool_active: 'gauge',
    render_pool_idle: 'gauge',
    render_pool_total: 'gauge',
    render_duration_seconds: 'histogram',
    render_pool_wait_seconds: 'histogram',
    render_oom_kills_total: 'counter',
    process_resident_memory_bytes: 'gauge',
    process_cpu_seconds_total: 'counter',
    process_open_fds: 'gauge',
    process_uptime_seconds: 'gauge',
    svc_data_hits_total: 'counter',
    svc_data_misses_total: 'counter',
    svc_data_l2_hits_total: 'counter',
    svc_data_l2_misses_total: 'counter',
  })
  assert.ok(text.includes('http_requests_total{method="GET",status="200",path_group="/blog/[slug]"} 1'))
  const bounds = [...text.matchAll(/^http_request_duration_seconds_bucket\{.*le="([^"]+)".*\} (\d+)$/gm)].map(
    ([, le, n]) => `${le}=${n}`,
  )
  assert.deepEqual(bounds, ['0.005=0', '0.01=0', '0.025=0', '0.05=1', '0.1=1', '0.25=1', '0.5=1', '1=1', '5=1', '+Inf=1'])
  assert.deepEqual(
    [...text.matchAll(/^cache_hits_total(.*)$/gm)].map(([, rest]) => rest),
    ['{layer="l1"} 1', '{layer="l2"} 0'],
  )
  assert.equal(lineOf(text, 'render_pool_total'), 'render_pool_total 5')
  assert.equal(lineOf(text, 'cache_entries'), 'cache_entries{layer="l1"} 7')
  assert.equal(lineOf(text, 'svc_l0_evictions_total'), 'svc_l0_evictions_total 5')
})

test('unknown methods count as OTHER, and path groups are bounded', async () => {
  const metrics = new MetricSet()
  const http = new HttpMetrics(metrics)
  http.series('BREW', 'static').record(405, 1, 0, 0)
  for (let i = 0; i < 3000; i++) http.series('GET', `/g${i}`).record(200, 1, 0, 0)
  const text = await mergeMetrics([metrics.toJson()])
  assert.ok(text.includes('http_requests_total{method="OTHER",status="405",path_group="static"} 1'))
  const groups = [...text.matchAll(/^http_requests_total\{/gm)].length
  assert.ok(groups <= 502, `${groups} series`)
  const total = [...text.matchAll(/^http_requests_total\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0)
  assert.equal(total, 3001)
})

test('a family that is full counts new label values as "other"', () => {
  const family = new NumberFamily('counter', { name: 'x_total', help: 'x', labels: ['a'] })
  for (let i = 0; i < 2500; i++) family.series(`v${i}`).value++
  const values = family.read()
  assert.equal(values.length, 2001)
  assert.equal(values.find((value) => value.labels['a'] === 'other')?.value, 500)
})

test('the sum over processes keeps the totals of dead ones and drops their gauges', async () => {
  const process = (requests: number, connections: number) => {
    const metrics = new MetricSet()
    const http = new HttpMetrics(metrics)
    for (let i = 0; i < requests; i++) http.series('GET', 'static').record(200, 20, 10, 100)
    http.activeConnections.value = connections
    return metrics.toJson()
  }
  const [first, second, third] = [process(3, 5), process(4, 6), process(1, 1)]
  const before = await mergeMetrics([first, second])
  assert.equal(lineOf(before, 'http_requests_total'), 'http_requests_total{method="GET",status="200",path_group="static"} 7')
  assert.equal(lineOf(before, 'http_active_connections'), 'http_active_connections 11')

  let kept = await keepTotals([], first)
  kept = structuredClone(kept)
  const after = await mergeMetrics([second, third, kept])
  assert.equal(lineOf(after, 'http_requests_total'), 'http_requests_total{method="GET",status="200",path_group="static"} 8')
  assert.equal(lineOf(after, 'http_active_connections'), 'http_active_connections 7')
  assert.equal(
    lineOf(after, 'http_request_duration_seconds_count'),
    'http_request_duration_seconds_count{method="GET",path_group="static"} 8',
  )
  kept = await keepTotals(kept, second)
  assert.equal(
    lineOf(await mergeMetrics([third, kept]), 'http_requests_total'),
    'http_requests_total{method="GET",status="200",path_group="static"} 8',
  )
})

test('two metrics of one name are refused', () => {
  const metrics = new MetricSet()
  metrics.add(new NumberFamily('counter', { name: 'x_total', help: 'x' }))
  assert.throws(() => metrics.add(new NumberFamily('counter', { name: 'x_total', help: 'x' })))
})

test('two metrics cannot have one name', () => {
  const metrics = new MetricSet()
  addUptimeMetric(metrics)
  assert.throws(() => addUptimeMetric(metrics), /process_uptime_seconds/)
})
