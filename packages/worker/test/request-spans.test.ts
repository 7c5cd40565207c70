import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fetchHttp, OtlpReceiver, type ReceivedSpan, waitFor } from '@svc/testkit'
import { startRaw } from '../../upstream/test/raw-upstream.ts'
import { facts, IsrInstance, page } from './isr-instance.ts'
import { startPhpSite } from './php-site.ts'
import { shop } from './pipeline-server.ts'
import { startProxy } from './proxy-server.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const PROXY = '10.0.0.1'

function telemetry(receiver: OtlpReceiver, rate: number): string {
  return `[telemetry]\notlp_endpoint = "${receiver.url}"\notlp_protocol = "http"\nsample_rate = ${rate}\n`
}

const calledWith = (flags: string) => ({ traceparent: `00-${TRACE}-${CALLER}-${flags}`, tracestate: 'vendor=1' })

/** A worker with pages that are cached, and the collector of its spans. */
async function tracedPages(t: TestContext, rate: number) {
  const receiver = await OtlpReceiver.start(t, 'http')
  const instance = new IsrInstance()
  const more = `[server]\ntrusted_proxies = ["${PROXY}"]\n${telemetry(receiver, rate)}`
  const { server } = await instance.workerWithL0(t, [shop], more)
  server.renderer.answer = ({ sink }) => sink.complete(page(facts([], 60)), Buffer.from('a page'))
  return { receiver, server }
}

const childrenOf = (spans: readonly ReceivedSpan[], parent: ReceivedSpan) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId)

const requestOf = (receiver: OtlpReceiver, cache: string) =>
  receiver.span(`with ${cache}`, ({ kind, attributes }) => kind === 2 && attributes['svc.cache'] === cache)

test('a page has a span with the attributes of its request, and children for its stages', async (t) => {
  const { receiver, server } = await tracedPages(t, 1)
  const headers = { authorization: 'Bearer secret', cookie: 'sid=secret', 'user-agent': 'test', ...calledWith('00') }
  await server.get('/?token=secret', { headers, remoteAddress: '203.0.113.9' })
  const span = await receiver.span('of the request', ({ kind }) => kind === 2)
  assert.equal(span.name, 'GET /')
  assert.deepEqual([span.traceId, span.parentSpanId, span.traceState], [TRACE, CALLER, 'vendor=1'])
  const { request_id: requestId, ...attributes } = span.attributes
  assert.equal(requestId, 'id-1')
  assert.deepEqual(attributes, {
    path: '/',
    status: 200,
    'http.request.method': 'GET',
    'http.route': '/',
    'http.response.status_code': 200,
    'http.response.body.size': 6,
    'url.path': '/',
    'url.scheme': 'http',
    'server.address': 'shop.test',
    'client.address': '203.0.113.9',
    'user_agent.original': 'test',
    'network.protocol.version': '1.1',
    'svc.site': 'shop',
    'svc.cache': 'isr-miss',
  })
  assert.doesNotMatch(JSON.stringify(receiver.spans), /secret/)
  await receiver.span('of the last stage', ({ name }) => name === 'write')
  const children = childrenOf(receiver.spans, span)
  assert.deepEqual(
    children.map(({ name, attributes: { 'svc.stage': stage, 'svc.outcome': outcome } }) => `${name}: ${stage} ${outcome}`),
    [
      'cache lookup: l0 skip',
      'router: router ok',
      'cache lookup: isr miss',
      'cache wait: lease ok',
      'render: render ok',
      'write: write ok',
    ],
  )
  for (const child of children) {
    assert.equal(child.traceId, TRACE)
    assert.ok(child.startedAt >= span.startedAt - 1 && child.endedAt <= span.endedAt + 1, child.name)
  }
  const render = children.find(({ name }) => name === 'render')
  assert.deepEqual(server.renderer.requests[0]?.trace, [
    ['traceparent', `00-${TRACE}-${render?.spanId}-01`],
    ['tracestate', 'vendor=1'],
  ])
})

test('responses of the caches have spans too, and each access line names the span of its request', async (t) => {
  const { receiver, server } = await tracedPages(t, 1)
  const words: string[] = []
  await waitFor('L0 to answer', async () => {
    words.push((await server.get('/')).headers['cache-status'] ?? '')
    return words.at(-1) === 'svc-l0; hit'
  })
  const [miss, isr, l0] = [
    await requestOf(receiver, 'isr-miss'),
    await requestOf(receiver, 'isr-hit'),
    await requestOf(receiver, 'l0-hit'),
  ]
  assert.deepEqual([l0.name, l0.attributes['status'], l0.attributes['svc.site'], l0.parentSpanId], ['GET /', 200, 'shop', ''])
  assert.equal(childrenOf(receiver.spans, l0).length, 0)
  assert.equal(new Set([miss, isr, l0].map(({ traceId }) => traceId)).size, 3)
  const lines = await server.accessLog()
  for (const span of [miss, isr, l0]) {
    const line = lines.find(({ request_id: id }) => id === span.attributes['request_id'])
    assert.deepEqual([line?.['trace_id'], line?.['span_id']], [span.traceId, span.spanId])
  }
})

test('with a rate of 0 only requests that a trusted proxy has sampled have spans, those that L0 answers included', async (t) => {
  const { receiver, server } = await tracedPages(t, 0)
  const headers = calledWith('01')
  const words = new Set<string | undefined>()
  for (let i = 0; i < 4; i++) {
    words.add((await server.get('/', { headers, remoteAddress: '203.0.113.9' })).headers['cache-status'])
    await server.get('/', { remoteAddress: PROXY })
    await server.get('/', { headers: calledWith('00'), remoteAddress: PROXY })
  }
  assert.ok(words.has('svc-l0; hit'))
  assert.deepEqual(server.renderer.requests[0]?.trace?.[0]?.[1].slice(-3), '-00')
  await server.get('/', { headers, remoteAddress: PROXY })
  await server.get('/other', { headers, remoteAddress: PROXY })
  const l0 = await requestOf(receiver, 'l0-hit')
  const other = await receiver.span('of the other page', ({ attributes }) => attributes['path'] === '/other')
  assert.deepEqual([l0.parentSpanId, other.parentSpanId], [CALLER, CALLER])
  assert.equal(receiver.spans.filter(({ kind }) => kind === 2).length, 2)
  const lines = await server.accessLog()
  assert.equal(lines.filter((line) => 'trace_id' in line).length, 2)
})

test('an upstream gets the trace with the span of its call as the caller, unless the location sets the field', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n'))
  const receiver = await OtlpReceiver.start(t, 'http')
  const { port } = await startProxy(
    t,
    `location / { proxy_pass http://${up.address}; } location /own/ { proxy_pass http://${up.address}; proxy_set_header traceparent mine; }`,
    { config: telemetry(receiver, 1) },
  )
  const sent = async (path: string) => {
    await fetchHttp(`http://127.0.0.1:${port}${path}`, { headers: calledWith('00') })
    const text = up.connections.map(({ received }) => received).join('')
    const head = text.slice(text.lastIndexOf(`GET ${path}`)).toLowerCase()
    return head.split('\r\n').filter((line) => line.startsWith('trace'))
  }
  const fields = await sent('/a')
  const call = await receiver.span('of the call', ({ kind }) => kind === 3)
  assert.deepEqual(fields, [`traceparent: 00-${TRACE}-${call.spanId}-01`, 'tracestate: vendor=1'])
  assert.equal(call.name, 'upstream')
  const request = await receiver.span('of the request', ({ kind }) => kind === 2)
  assert.deepEqual([request.isError, request.attributes['error.type'], call.parentSpanId], [true, '500', request.spanId])
  assert.deepEqual(await sent('/own/'), ['traceparent: mine', 'tracestate: vendor=1'])
})

test('a FastCGI application gets the trace as a parameter', async (t) => {
  const receiver = await OtlpReceiver.start(t, 'http')
  const site = await startPhpSite(t, { config: telemetry(receiver, 0) })
  if (site === undefined) return
  const { server } = JSON.parse((await site.get('/echo.php', { headers: calledWith('01') })).text)
  assert.match(server.HTTP_TRACEPARENT, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`), 'the client does not decide')
  assert.equal(server.HTTP_TRACESTATE, 'vendor=1')
})
