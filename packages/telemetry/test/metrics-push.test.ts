import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { ManualClock, OtlpReceiver, tempDir, waitFor, writeCertificate } from '@svc/testkit'
import { HistogramFamily, NumberFamily } from '../src/metrics/families.ts'
import { MetricSet } from '../src/metrics/metric-set.ts'
import { MetricsPush } from '../src/otlp/metrics-push.ts'

// gRPC reads it when it is loaded, and then trusts nothing else.
delete process.env['GRPC_DEFAULT_SSL_ROOTS_FILE_PATH']

/** A process that has counted some requests. */
function counted(requests: number) {
  const set = new MetricSet()
  const family = new NumberFamily('counter', { name: 'http_requests_total', help: 'Requests answered.', labels: ['status'] })
  set.add(family).series('200').value = requests
  set.add(new NumberFamily('gauge', { name: 'http_active_connections', help: 'Open.' })).series().value = 2
  const time = { name: 'http_request_duration_seconds', help: 'Time.', labels: ['method'], buckets: [0.1, 1] }
  const series = set.add(new HistogramFamily(time)).series('GET')
  for (const seconds of [0.05, 0.5, 0.6, 7]) series.observe(seconds)
  return set
}

function started(t: TestContext, endpoint: string | undefined, protocol: 'http' | 'grpc') {
  const clock = new ManualClock(1_700_000_000_000)
  const states: string[] = []
  const sets = [counted(3), counted(4)]
  const target = { endpoint }
  const push = new MetricsPush({
    config: () => ({
      telemetry: { otlp_endpoint: target.endpoint, otlp_protocol: protocol, service_name: 'shop', sample_rate: 0 },
      scaling: { instance_id: 'one' },
    }),
    collect: async () => sets.map((set) => set.toJson()),
    process: { 'service.version': '1' },
    clock,
    onState: (url, error) => states.push(error === undefined ? `${url} is back` : `${url} is away`),
  })
  t.after(() => push.close())
  return { push, clock, states, target }
}

for (const protocol of ['http', 'grpc'] as const) {
  test(`a collector that speaks ${protocol} gets the sums of all processes, every minute`, async (t) => {
    const receiver = await OtlpReceiver.start(t, protocol)
    const { push, clock, states } = started(t, receiver.url, protocol)
    await push.start()
    const points = receiver.points.map(({ startedAt, ...point }) => {
      assert.equal(startedAt, 1_700_000_000_000)
      return point
    })
    const resource = { 'service.name': 'shop', 'service.instance.id': 'one', 'service.version': '1' }
    const plain = { resource, count: undefined, bucketCounts: [], bounds: [] }
    assert.deepEqual(points, [
      { ...plain, metric: 'http_requests_total', kind: 'sum', attributes: { status: '200' }, value: 7, isCumulative: true },
      { ...plain, metric: 'http_active_connections', kind: 'gauge', attributes: {}, value: 4, isCumulative: false },
      {
        metric: 'http_request_duration_seconds',
        kind: 'histogram',
        resource,
        attributes: { method: 'GET' },
        value: 16.3,
        isCumulative: true,
        count: 8,
        bucketCounts: [2, 4, 2],
        bounds: [0.1, 1],
      },
    ])
    clock.advance(59_999)
    assert.equal(receiver.requests.length, 1)
    clock.advance(1)
    await waitFor('the second push', () => receiver.requests.length === 2)
    assert.deepEqual(states, [])
  })
}

for (const protocol of ['http', 'grpc'] as const) {
  test(`a collector that speaks ${protocol} over TLS gets nothing before its certificate is trusted`, async (t) => {
    const certificate = writeCertificate(tempDir(t, 'otlp'), 'collector', { commonName: 'localhost', hosts: ['localhost'] })
    const startReceiver = () => OtlpReceiver.start(t, protocol, { certificate })
    const [first, second] = [await startReceiver(), await startReceiver()]
    const { push, states, target } = started(t, first.url.replace('127.0.0.1', 'localhost'), protocol)
    await push.start()
    assert.equal(first.requests.length, 0)
    assert.match(states.join(), /^https:\/\/localhost:\d+\S* is away$/)

    const trusted = getCACertificates()
    t.after(() => setDefaultCACertificates(trusted))
    setDefaultCACertificates([...trusted, readFileSync(certificate.cert, 'utf8')])
    // Another one: gRPC keeps what it trusts as long as it knows an address.
    target.endpoint = second.url.replace('127.0.0.1', 'localhost')
    await push.start()
    const [point] = second.points
    assert.deepEqual([point?.metric, point?.value], ['http_requests_total', 7])
  })
}

test('a collector that fails is reported once, and once when it is back; a new one is used from the next push on', async (t) => {
  const [first, second] = [await OtlpReceiver.start(t, 'http'), await OtlpReceiver.start(t, 'http')]
  const { push, states, target } = started(t, first.url.replace('://', '://me:secret@'), 'http')
  first.refuses = true
  await push.start()
  await push.start()
  assert.deepEqual(states, [`${first.url}/v1/metrics is away`])
  assert.equal(first.requests[0]?.authorization, `Basic ${Buffer.from('me:secret').toString('base64')}`)
  first.refuses = false
  await push.start()
  assert.deepEqual(states.slice(1), [`${first.url}/v1/metrics is back`])
  target.endpoint = second.url
  await push.start()
  assert.deepEqual([first.requests.length, second.requests.length], [3, 1])
})

test('without a collector nothing is collected, until a reload names one', async (t) => {
  const receiver = await OtlpReceiver.start(t, 'http')
  const { push, clock, target } = started(t, undefined, 'http')
  await push.start()
  target.endpoint = receiver.url
  clock.advance(60_000)
  await waitFor('the first push', () => receiver.points.length > 0)
})

test('after its end nothing is pushed', async (t) => {
  const receiver = await OtlpReceiver.start(t, 'http')
  const { push, clock } = started(t, receiver.url, 'http')
  await push.start()
  await push.close()
  clock.advance(120_000)
  assert.equal(clock.timers, 0)
  assert.equal(receiver.requests.length, 1)
})
