import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatencySketch, latencyBin, readTraffic, TopLists, TrafficTotals, TrafficWriter } from '@svc/telemetry'

/** Latencies from a hundredth of a millisecond to a quarter of an hour, evenly on a logarithmic scale. */
const latencies = Array.from({ length: 5_000 }, (_, i) => 0.011 * 9e7 ** (i / 5_000))

function sketchOf(values: readonly number[]): LatencySketch {
  const sketch = new LatencySketch()
  for (const ms of values) sketch.record(latencyBin(ms))
  return sketch
}

function assertNear(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 0.0201 * expected, `${actual} is within 2 % of ${expected}`)
}

test('quantiles are within two percent of the exact ones, over eight orders of magnitude', () => {
  const sketch = sketchOf(latencies)
  for (const q of [0, 0.01, 0.5, 0.95, 0.99, 0.999]) assertNear(sketch.quantile(q), latencies[Math.floor(q * 4_999)] ?? 0)
})

test('the sum of two sketches is the sketch of all their latencies', () => {
  const sum = sketchOf(latencies.slice(3_000))
  sum.add(sketchOf(latencies.slice(0, 3_000)))
  const all = sketchOf(latencies)
  assert.equal(sum.count, all.count)
  for (const q of [0, 0.25, 0.6, 0.99]) assert.equal(sum.quantile(q), all.quantile(q))
})

test('latencies up to a threshold are counted within two percent of the threshold', () => {
  const sketch = sketchOf(latencies)
  for (const ms of [0.001, 0.5, 300, 20_000, 1e9]) {
    const atMost = (limit: number) => latencies.filter((latency) => latency <= limit).length
    const counted = sketch.countUpTo(ms)
    assert.ok(counted >= atMost(ms * 0.9799) && counted <= atMost(ms * 1.0201), `${counted} of up to ${ms} ms`)
  }
})

test('latencies out of range, and those that are no numbers, count as the nearest', () => {
  const sketch = sketchOf([0, -1, Number.NaN, Number.POSITIVE_INFINITY])
  assert.equal(sketch.count, 4)
  assert.equal(sketch.countUpTo(0.01), 3)
  assertNear(sketch.quantile(1), 1_000_000)
})

test('a sketch without latencies has no quantile', () => {
  assert.ok(Number.isNaN(new LatencySketch().quantile(0.5)))
})

function busyTraffic() {
  const totals = new TrafficTotals()
  for (const [index, ms] of latencies.entries()) {
    totals.record(200 + 100 * (index % 4), 2 ** 33)
    totals.latency.record(latencyBin(ms))
  }
  totals.recordHit('proxy')
  totals.recordMiss()
  const tops = new TopLists(8)
  tops.paths.add('/é', 7)
  tops.clients.add('192.0.2.1', 7)
  return { site: 'shop', totals, tops }
}

test('written traffic is read as it was, one site after another', () => {
  const traffic = busyTraffic()
  const writer = new TrafficWriter(8)
  writer.add(traffic)
  writer.add({ site: 'empty' })
  const totals = new TrafficTotals()
  const tops = new TopLists(8)
  const sites: string[] = []
  readTraffic(writer.take(), (written) => {
    sites.push(written.site)
    if (!written.totals.isAtEnd) totals.addEncoded(written.totals)
    tops.addEncoded(written.tops)
  })
  assert.deepEqual(sites, ['shop', 'empty'])
  assert.deepEqual(totals, traffic.totals)
  assert.equal(totals.bytes, 5_000 * 2 ** 33)
  assert.deepEqual(tops.paths.top(8), [{ name: '/é', count: 7 }])
  assert.deepEqual(tops.referrers.top(8), [])
})

test('a number that runs past the end of its section is refused', () => {
  const bytes = Buffer.from([0, 1, 0x80, 1, 0])
  assert.throws(() => readTraffic(bytes, ({ totals }) => void totals.number()), { code: 'CORE_PROTOCOL' })
})

test('bytes that are cut anywhere are refused', () => {
  const writer = new TrafficWriter(8)
  writer.add(busyTraffic())
  const bytes = writer.take()
  for (const length of [1, 5, 6, 100, bytes.byteLength - 1]) {
    const read = () =>
      readTraffic(bytes.subarray(0, length), ({ totals, tops }) => {
        new TrafficTotals().addEncoded(totals)
        new TopLists(8).addEncoded(tops)
      })
    assert.throws(read, { code: 'CORE_PROTOCOL' })
  }
})
