import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ManualClock, OtlpReceiver, waitFor } from '@svc/testkit'
import type { TelemetryConfig } from '../src/otlp/collector.ts'
import { RequestTracer } from '../src/tracing/request-tracer.ts'
import type { SpanRecord } from '../src/tracing/span-record.ts'
import { parseTraceparent } from '../src/tracing/trace-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'

function record(more: Partial<SpanRecord> = {}): SpanRecord {
  return {
    name: 'GET /blog',
    kind: 'server',
    traceId: TRACE,
    spanId: '00f067aa0ba902b7',
    parentId: '',
    isParentRemote: true,
    state: '',
    startedAt: 1_700_000_000_123.5,
    durationMs: 12.25,
    isError: false,
    attributes: { 'http.response.status_code': 200, path: '/blog' },
    ...more,
  }
}

async function started(t: TestContext, settings: Partial<TelemetryConfig['telemetry']>) {
  const states: string[] = []
  const clock = new ManualClock()
  const tracer = new RequestTracer({
    process: { 'svc.worker': 3 },
    batchDelayMs: 10,
    clock,
    onState: (url, error) => states.push(error === undefined ? `${url} is back` : `${url} is away`),
  })
  const configure = async (changed: Partial<TelemetryConfig['telemetry']>) => {
    const telemetry = { otlp_protocol: 'grpc', sample_rate: 1, service_name: 'shop', ...settings, ...changed } as const
    const config = { telemetry, scaling: { instance_id: 'one' } }
    await tracer.prepare(config)
    tracer.apply(config)
  }
  await configure({})
  t.after(() => tracer.close())
  return { tracer, states, configure, clock }
}

for (const protocol of ['http', 'grpc'] as const) {
  test(`a span arrives at a collector that speaks ${protocol}, with its times, parent, state and attributes`, async (t) => {
    const receiver = await OtlpReceiver.start(t, protocol)
    const { tracer } = await started(t, { otlp_endpoint: receiver.url, otlp_protocol: protocol })
    tracer.record(record({ parentId: CALLER, state: 'vendor=1', isError: true }))
    const span = await receiver.span('of the request', () => true)
    assert.deepEqual(span, {
      name: 'GET /blog',
      kind: 2,
      traceId: TRACE,
      spanId: '00f067aa0ba902b7',
      parentSpanId: CALLER,
      traceState: 'vendor=1',
      startedAt: 1_700_000_000_123.5,
      endedAt: 1_700_000_000_135.75,
      isError: true,
      attributes: { 'http.response.status_code': 200, path: '/blog' },
      resource: { 'service.name': 'shop', 'service.instance.id': 'one', 'svc.worker': 3 },
    })
    await waitFor('it to be counted', () => tracer.counts.exported === 1)
    assert.equal(tracer.counts.dropped, 0)
  })

  test(`with ${protocol}, credentials of the endpoint go in the Authorization field and are not in the URL that is logged`, async (t) => {
    const receiver = await OtlpReceiver.start(t, protocol)
    receiver.refuses = true
    const url = new URL('/base/', receiver.url)
    url.username = 'us%65r'
    url.password = 'p%40ss'
    const { tracer, states } = await started(t, { otlp_endpoint: url.href, otlp_protocol: protocol })
    tracer.record(record())
    await waitFor('a refusal', () => states.length === 1)
    const [request] = receiver.requests
    assert.equal(request?.authorization, `Basic ${Buffer.from('user:p@ss').toString('base64')}`)
    if (protocol === 'http') assert.equal(request.path, '/base/v1/traces')
    assert.doesNotMatch(states.join(), /user|p@ss|p%40ss/)
    assert.deepEqual(tracer.counts, { exported: 0, dropped: 1, limited: 0 })
  })
}

test('a collector that is away costs spans, which are counted, and is reported once when it fails and once when it is back', async (t) => {
  const first = await OtlpReceiver.start(t, 'http')
  const { tracer, states } = await started(t, { otlp_endpoint: first.url, otlp_protocol: 'http' })
  first.refuses = true
  for (let batch = 1; batch <= 2; batch++) {
    tracer.record(record())
    await waitFor('the span to be refused', () => tracer.counts.dropped === batch)
  }
  assert.deepEqual(states, [`${first.url}/v1/traces is away`])
  first.refuses = false
  tracer.record(record())
  await waitFor('the collector to be back', () => states.length === 2)
  assert.deepEqual(tracer.counts, { exported: 1, dropped: 2, limited: 0 })
})

test('spans past the bound of the queue are dropped and counted at once', async (t) => {
  const { tracer } = await started(t, { otlp_endpoint: 'http://127.0.0.1:1', otlp_protocol: 'http' })
  for (let i = 0; i < 3000; i++) tracer.record(record())
  assert.deepEqual(tracer.counts, { exported: 0, dropped: 3000 - 2048, limited: 0 })
  await tracer.close()
  assert.deepEqual(tracer.counts, { exported: 0, dropped: 3000, limited: 0 })
})

test('spans that wait are sent when the tracer is closed', async (t) => {
  const receiver = await OtlpReceiver.start(t, 'grpc')
  const { tracer } = await started(t, { otlp_endpoint: receiver.url })
  tracer.record(record())
  await tracer.close()
  assert.equal(receiver.spans.length, 1)
  assert.equal(tracer.isOn, false)
})

test('new settings take effect, and spans for the collector before still go there', async (t) => {
  const [before, after] = [await OtlpReceiver.start(t, 'http'), await OtlpReceiver.start(t, 'http')]
  const { tracer, configure } = await started(t, { otlp_endpoint: before.url, otlp_protocol: 'http' })
  tracer.record(record({ name: 'old' }))
  await configure({ otlp_endpoint: after.url, sample_rate: 0 })
  assert.equal(tracer.isPicked(), false)
  tracer.record(record({ name: 'new' }))
  await before.span('of before', ({ name }) => name === 'old')
  await after.span('of after', ({ name }) => name === 'new')
  await configure({ otlp_endpoint: undefined })
  assert.equal(tracer.isOn, false)
})

test('a trusted proxy decides if a request is sampled; any other client only names its trace', async (t) => {
  const { tracer, configure } = await started(t, { otlp_endpoint: 'http://127.0.0.1:1', sample_rate: 0 })
  const field = (flags: string) => (name: string) => (name === 'traceparent' ? `00-${TRACE}-${CALLER}-${flags}` : 'vendor=1')
  const trusted = tracer.begin(field('01'), true)
  assert.deepEqual([trusted.isSampled, trusted.traceId, trusted.parentId, trusted.state], [true, TRACE, CALLER, 'vendor=1'])
  const untrusted = tracer.begin(field('01'), false)
  assert.deepEqual([untrusted.isSampled, untrusted.traceId, untrusted.parentId], [false, TRACE, CALLER])
  assert.match(untrusted.traceparentOf('upstream'), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  await configure({ sample_rate: 1 })
  assert.equal(tracer.begin(field('00'), true).isSampled, false)
  assert.equal(tracer.begin(field('00'), false).isSampled, true)
})

test('a worker samples at most 500 requests a second, those of trusted proxies included, and counts the others', async (t) => {
  const { tracer, clock } = await started(t, { otlp_endpoint: 'http://127.0.0.1:1' })
  const sampled = (isTrusted: boolean) => {
    const field = (name: string) => (name === 'traceparent' ? `00-${TRACE}-${CALLER}-01` : undefined)
    return Array.from({ length: 300 }, () => tracer.begin(field, isTrusted)).filter(({ isSampled }) => isSampled).length
  }
  assert.deepEqual([sampled(false), sampled(true), tracer.counts.limited], [300, 200, 100])
  clock.advance(999)
  assert.equal(tracer.isPicked(), false)
  clock.advance(1)
  assert.equal(sampled(true), 300)
})

test('a call made in a stage names the span of that stage as its caller, on each of its tries', async (t) => {
  const { tracer } = await started(t, { otlp_endpoint: 'http://127.0.0.1:1' })
  const trace = tracer.begin(() => undefined, false)
  assert.match(trace.traceId, /^[0-9a-f]{32}$/)
  assert.equal(trace.parentId, '')
  const sent = trace.traceparentOf('upstream')
  assert.equal(trace.traceparentOf('upstream'), sent)
  assert.equal(sent, `00-${trace.traceId}-${trace.takeSpanId('upstream')}-01`)
  assert.notEqual(trace.takeSpanId('upstream'), sent.split('-')[2])
})

test('an invalid traceparent is ignored', () => {
  const valid = `00-${TRACE}-${CALLER}-01`
  assert.deepEqual(parseTraceparent(valid), { traceId: TRACE, spanId: CALLER, isSampled: true })
  assert.deepEqual(parseTraceparent(`cc-${TRACE}-${CALLER}-02-later`)?.isSampled, false)
  const invalid = [
    undefined,
    '',
    `${valid}-more`,
    `ff-${TRACE}-${CALLER}-01`,
    `00-${TRACE.toUpperCase()}-${CALLER}-01`,
    `00-${'0'.repeat(32)}-${CALLER}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `cc-${TRACE}-${CALLER}-01-${'x'.repeat(300)}`,
    `${valid},${valid}`,
  ]
  for (const field of invalid) assert.equal(parseTraceparent(field), undefined, field)
})

test('a tracestate without a valid traceparent, or one that is too long or no text, is dropped', async (t) => {
  const { tracer } = await started(t, { otlp_endpoint: 'http://127.0.0.1:1' })
  const begun = (traceparent: string, tracestate: string) =>
    tracer.begin((name) => (name === 'traceparent' ? traceparent : tracestate), false).state
  const valid = `00-${TRACE}-${CALLER}-01`
  assert.equal(begun(valid, 'a=1'), 'a=1')
  assert.equal(begun('x', 'a=1'), '')
  assert.equal(begun(valid, `a=${'1'.repeat(511)}`), '')
  for (const state of ['a=\u20ac', 'a=\u00ff', 'a=1\r\nx: y']) assert.equal(begun(valid, state), '')
})
