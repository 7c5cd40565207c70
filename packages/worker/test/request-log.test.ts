import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpMetrics, MetricSet } from '@svc/telemetry'
import type { RequestContext } from '../src/request/request-context.ts'
import { RequestLog } from '../src/request/request-log.ts'
import { rewrittenRequest } from '../src/request/rewritten-request.ts'
import { WorkerTraffic } from '../src/traffic/worker-traffic.ts'
import { PipelineServer } from './pipeline-server.ts'

test('a rewritten request that the engine refuses on its way is counted with the status of the engine', async (t) => {
  const server = await PipelineServer.start(t)
  const contexts: RequestContext[] = []
  server.intercept = (context) => {
    contexts.push(context)
    const target = { rawPath: '/items/1', path: '/items/1', query: '' }
    context.request = rewrittenRequest(context.exchange.request, target)
    return 'next'
  }
  await server.get('/')
  const [context] = contexts
  assert.ok(context !== undefined)
  const metrics = new MetricSet()
  const log = new RequestLog(new HttpMetrics(metrics), undefined, new WorkerTraffic())
  const { request } = context.exchange
  log.refused({ request, status: 408, code: 'timeout', method: 'GET', target: '/', listener: '', remoteAddress: '' })
  log.finished(context, true)
  const counted = metrics.toJson().find(({ name }) => name === 'http_requests_total')
  assert.deepEqual(
    counted?.values.map(({ labels, value }) => [labels['status'], value]),
    [['408', 1]],
  )
})
