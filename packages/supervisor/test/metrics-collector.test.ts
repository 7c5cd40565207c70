import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultTimings } from '@svc/processes'
import { addProcessMetrics, HttpMetrics, MetricSet } from '@svc/telemetry'
import { MetricsCollector } from '../src/metrics/metrics-collector.ts'
import { ScriptedProcess } from './scripted-process.ts'
import { metricOf } from './watched-instance.ts'

const TIMEOUT_MS = 50

function collector(includesProcess: () => boolean = () => true): MetricsCollector {
  const isr = { entries: () => 0, evictions: () => 0, shares: () => [] }
  const up = () => ({ worker: 1, host: 1 })
  const proxy = { shares: () => [] }
  const rateLimits = { counted: () => 0, localSlices: () => 0 }
  const more = { includesProcess, up, isr, proxy, rateLimits, droppedLines: () => 0 }
  return new MetricsCollector(TIMEOUT_MS, { generation: () => 1, ...more })
}

/** A worker that has answered requests. */
function workerWith(requests: number): ScriptedProcess {
  const process = new ScriptedProcess()
  process.metrics = counted(requests)
  return process
}

function counted(requests: number) {
  const metrics = new MetricSet()
  addProcessMetrics(metrics)
  const series = new HttpMetrics(metrics).series('GET', 'static')
  for (let i = 0; i < requests; i++) series.record(200, 20, 10, 100)
  return metrics.toJson()
}

function numberIn(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
  assert.ok(line !== undefined, `there is a metric ${name}`)
  return Number(line.slice(line.lastIndexOf(' ') + 1))
}

const scrape = (metrics: MetricsCollector, processes: readonly ScriptedProcess[]) =>
  metrics.text(processes.map(({ asWorker }) => asWorker))

const requestsIn = (text: string) => numberIn(text, 'http_requests_total')

test('a scrape waits half a second for a process, and a scraper for less than one', () => {
  assert.equal(defaultTimings.metricsTimeoutMs, 500)
})

test('a process that ends in order counts to its last request, although no scrape came meanwhile', async () => {
  const metrics = collector()
  const worker = workerWith(3)
  await metrics.processDrained(worker.asWorker)
  metrics.processEnded(worker.asWorker)
  assert.equal(requestsIn(await scrape(metrics, [workerWith(1)])), 4)
})

test('the end of a process that does not answer waits no longer than a scrape', async () => {
  const metrics = collector()
  const worker = Object.assign(workerWith(3), { isStalled: true })
  await metrics.processDrained(worker.asWorker)
  metrics.processEnded(worker.asWorker)
  assert.equal(requestsIn(await scrape(metrics, [workerWith(1)])), 1)
})

test('a process that does not answer counts with its last values, and the scrape says how many did not', async () => {
  const metrics = collector()
  const workers = [workerWith(3), workerWith(4)]
  const [first] = workers
  const full = await scrape(metrics, workers)
  assert.deepEqual([requestsIn(full), numberIn(full, 'svc_scrape_stale_processes')], [7, 0])
  Object.assign(first ?? {}, { isStalled: true, metrics: counted(10) })
  const partial = await scrape(metrics, [...workers, Object.assign(new ScriptedProcess(), { isStalled: true })])
  assert.deepEqual([requestsIn(partial), numberIn(partial, 'svc_scrape_stale_processes')], [7, 2])
  Object.assign(first ?? {}, { isStalled: false })
  const again = await scrape(metrics, workers)
  assert.deepEqual([requestsIn(again), numberIn(again, 'svc_scrape_stale_processes')], [14, 0])
})

test('a process with an invalid reply counts with its last values', async () => {
  const metrics = collector()
  const worker = workerWith(3)
  await scrape(metrics, [worker])
  for (const invalid of [
    'text',
    [{ name: 'http_requests_total' }],
    [{ ...metricOf('counter', 'x', []), values: [{ value: '1' }] }],
  ]) {
    worker.metrics = invalid as never
    const text = await scrape(metrics, [worker])
    assert.deepEqual([requestsIn(text), numberIn(text, 'svc_scrape_stale_processes')], [3, 1])
  }
})

test('no counter goes backwards while processes end one after the other during scrapes', async () => {
  const metrics = collector()
  const workers = Array.from({ length: 20 }, () => workerWith(1))
  let last = requestsIn(await scrape(metrics, workers))
  while (workers.length > 0) {
    const running = scrape(metrics, workers)
    const ended = workers.pop()
    if (ended !== undefined) metrics.processEnded(ended)
    const during = requestsIn(await Promise.race([running, scrape(metrics, workers)]))
    const after = requestsIn(await running)
    assert.ok(during >= last && after >= last, `${last}, then ${during} and ${after}, with ${workers.length} workers left`)
    last = Math.max(during, after)
  }
  assert.equal(last, 20)
})

test('two processes that end during one scrape are counted once, whenever the second ends', async () => {
  for (let turns = 0; turns < 40; turns++) {
    const metrics = collector()
    const workers = [workerWith(5), workerWith(6), workerWith(7)] as const
    await scrape(metrics, workers)
    metrics.processEnded(workers[0])
    const running = scrape(metrics, [workers[2]])
    // Meanwhile the totals of the first are added up.
    for (let i = 0; i < turns; i++) await undefined
    metrics.processEnded(workers[1])
    assert.equal(requestsIn(await running), 18, `after ${turns} turns`)
  }
})

test('process_* metrics are the sum over all processes, and gone while the configuration says so', async () => {
  let isIncluded = true
  const metrics = collector(() => isIncluded)
  const host = new ScriptedProcess()
  host.metrics = [metricOf('gauge', 'process_resident_memory_bytes', [{ labels: {}, value: 1e15 }])]
  const workers = [workerWith(1), host]
  assert.ok(numberIn(await scrape(metrics, workers), 'process_resident_memory_bytes') > 1e15)
  isIncluded = false
  metrics.processEnded(host)
  const without = await scrape(metrics, workers)
  assert.doesNotMatch(without, /process_(resident|cpu|open|uptime)/)
  assert.equal(requestsIn(without), 1)
  isIncluded = true
  assert.match(await scrape(metrics, workers), /^process_uptime_seconds \d/m)
})
