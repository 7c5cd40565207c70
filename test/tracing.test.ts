import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  fetchHttp,
  OtlpReceiver,
  PROCESS_WAIT_MS,
  type ReceivedSpan,
  startServer,
  tempDir,
  tempSite,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import { reloaded } from './control.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'

/** A server that keeps the trace fields of its requests. */
async function startBackend(t: TestContext) {
  const seen: unknown[] = []
  const server = createServer(({ headers }, response) => {
    seen.push([headers['traceparent'], headers['tracestate']])
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const site = (address: string) => ({
  'app/[name]/page.tsx': `export const dynamic = 'force-dynamic'
export default async function Page({ params }) {
  const { name } = await params
  if (name === 'fails') throw new Error('broken')
  await fetch('http://${address}/', { cache: 'no-store' })
  return <p>{name}</p>
}
`,
})

test('spans, metrics and trace ids of a running server reach its collector, and a reload names another one', async (t) => {
  const [grpc, http, backend] = [await OtlpReceiver.start(t, 'grpc'), await OtlpReceiver.start(t, 'http'), await startBackend(t)]
  const config = (telemetry: string) =>
    `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\ntrusted_proxies = ["127.0.0.1"]\n[telemetry]\nsample_rate = 0\n${telemetry}
[scaling]\ninstance_id = "one"\n[[sites]]\nid = "shop"\nhostnames = ["shop.test"]\nroot = "${root}"\nfetch_allow = ["127.0.0.1"]\n`
  const root = tempSite(t, site(backend.address))
  const server = await startServer(t, { config: config(`otlp_endpoint = "${grpc.url}"\nservice_name = "web"`) })
  const get = (path: string) => {
    const headers = {
      traceparent: `00-${TRACE}-${CALLER}-01`,
      tracestate: 'vendor=1',
      'x-request-id': `of-${path.slice(1).split('?')[0]}`,
    }
    return fetchHttp(server.url + path, { host: 'shop.test', headers })
  }
  const spanOf = (receiver: OtlpReceiver, path: string, fits: (span: ReceivedSpan) => boolean = () => true) =>
    receiver.span(`of ${path}`, (span) => span.attributes['path'] === path && fits(span))

  assert.equal((await get('/hello?token=hidden')).status, 200)
  const request = await spanOf(grpc, '/hello')
  assert.deepEqual([request.traceId, request.parentSpanId, request.attributes['request_id']], [TRACE, CALLER, 'of-hello'])
  assert.equal(request.attributes['http.route'], '/[name]')
  assert.deepEqual(
    [request.resource['service.name'], request.resource['service.instance.id'], typeof request.resource['svc.worker']],
    ['web', 'one', 'number'],
  )
  const render = await grpc.span(
    'of the render',
    ({ name, parentSpanId }) => name === 'render' && parentSpanId === request.spanId,
  )
  assert.deepEqual(backend.seen, [[`00-${TRACE}-${render.spanId}-01`, 'vendor=1']])
  assert.ok(render.endedAt > render.startedAt)

  assert.equal((await get('/fails')).status, 500)
  const failed = await spanOf(grpc, '/fails')
  assert.deepEqual([failed.isError, failed.attributes['error.type']], [true, '500'])
  const ofRender = await grpc.span(
    'of the failed render',
    ({ name, parentSpanId: id }) => name === 'render' && id === failed.spanId,
  )
  const isOf = (line: string, kind: string) => line.includes('"request_id":"of-fails"') && line.includes(kind)
  const ids = async (kind: string) => JSON.parse(await server.child.waitForLine(kind, (line) => isOf(line, kind)))
  const access = await ids('"duration_ms"')
  assert.deepEqual([access.trace_id, access.span_id], [TRACE, failed.spanId])
  const logged = await ids('"level":"error"')
  assert.deepEqual([logged.trace_id, logged.span_id], [TRACE, ofRender.spanId])
  assert.doesNotMatch(JSON.stringify(grpc.spans), /hidden/)

  const counted = () => grpc.points.find(({ metric }) => metric === 'svc_processes_up')
  await waitFor('the first metrics', () => counted() !== undefined, PROCESS_WAIT_MS)
  assert.deepEqual([counted()?.resource['service.name'], counted()?.kind], ['web', 'gauge'])
  const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
  assert.match(text, /^svc_trace_spans_total\{outcome="exported"\} [1-9]/m)
  assert.match(text, /^svc_trace_spans_total\{outcome="dropped"\} 0/m)

  assert.ok(server.configFile)
  const plugins = tempDir(t, 'plugins')
  writeFiles(plugins, {
    '10-mark.mjs': "export default { name: 'mark', version: '1', hooks: { onRequest() {}, async onRoute() {} } }",
  })
  const guards = `[plugins]\ndirectory = "${plugins}"\n[waf]\nmode = "block"\n[waf.packs]\ntraversal = "block"\n`
  writeFileSync(server.configFile, config(`otlp_endpoint = "${http.url}"\notlp_protocol = "http"\n${guards}`))
  await reloaded(server)
  await get('/later')
  const later = await spanOf(http, '/later')
  assert.equal(later.resource['service.name'], 'svc')
  for (const name of ['waf', 'plugin:mark:onRequest', 'plugin:mark:onRoute']) {
    const own = await http.span(`${name} of /later`, (span) => span.name === name && span.parentSpanId === later.spanId)
    assert.deepEqual(
      [own.traceId, own.isError, own.startedAt >= later.startedAt, own.endedAt <= later.endedAt],
      [TRACE, false, true, true],
    )
  }
  assert.equal((await get('/blocked?file=..%2f..%2fetc%2fpasswd')).status, 403)
  const blocked = await spanOf(http, '/blocked')
  await http.span('waf of /blocked', (span) => span.name === 'waf' && span.parentSpanId === blocked.spanId)
  assert.ok(
    !http.spans.some((span) => span.name.startsWith('plugin:') && span.parentSpanId === blocked.spanId),
    'plugins come behind',
  )
  await get('/last')
  await server.child.stop()
  assert.ok(
    http.spans.some(({ attributes }) => attributes['path'] === '/last'),
    'spans that wait are sent at the end',
  )
})
