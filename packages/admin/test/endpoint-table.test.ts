import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEndpoints, type Endpoint, type EndpointGroup, EndpointTable, listEndpoints } from '../src/index.ts'
import { FakePlane } from './fake-plane.ts'
import { noRequest } from './request.ts'

const all = { ...allEndpoints, healthPaths: ['/__svc/health', '/__svc/health'], metricsPaths: ['/__svc/metrics', '/metrics'] }

function without(...groups: EndpointGroup[]) {
  return { ...all, groups: new Set([...all.groups].filter((group) => !groups.includes(group))) }
}

async function answerOf(settings: typeof all, path: string, plane = new FakePlane()) {
  const match = new EndpointTable(listEndpoints(settings)).match('GET', path)
  assert.ok(match?.kind === 'endpoint')
  const answer = await match.endpoint.handle(plane, noRequest)
  assert.ok('body' in answer)
  return answer
}

test('a path of the reserved space that nothing serves lists what is served, once each', () => {
  const table = new EndpointTable(listEndpoints(all))
  assert.equal(table.match('GET', '/__svc/nothing')?.kind, 'unknown')
  const answer = table.unknownAnswer('an id')
  assert.equal(answer.status, 404)
  const body = JSON.parse(answer.body)
  assert.deepEqual([body.code, body.request_id], ['unknown_endpoint', 'an id'])
  const names = body.endpoints.map((entry: Endpoint) => `${entry.method} ${entry.path} ${entry.group} ${entry.access}`)
  assert.deepEqual(names.slice(0, 6), [
    'GET /__svc/health health open',
    'GET /__svc/metrics metrics open',
    'GET /metrics metrics open',
    'GET /health health open',
    'POST /__svc/cache/purge-l0 cache loopback',
    'POST /__svc/cache/purge-proxy cache loopback',
  ])
  assert.equal(new Set(names).size, names.length)
  assert.equal(names.length, listEndpoints(all).length)
})

test('a disabled group is not listed, and its path outside the reserved space is not served', () => {
  const table = new EndpointTable(listEndpoints(without('health', 'api', 'admin')))
  assert.equal(table.match('GET', '/health'), undefined)
  assert.equal(table.match('GET', '/__svc/health')?.kind, 'unknown')
  assert.equal(table.match('POST', '/api/sites/a/isolate/flush'), undefined)
  assert.equal(table.match('GET', '/__svc/api/status')?.kind, 'unknown')
  assert.equal(table.match('POST', '/__svc/admin/api/cache/purge')?.kind, 'unknown')
  assert.doesNotMatch(table.unknownAnswer('').body, /health"|\/admin|\/api\/(?!sites\/:id\/isolate)/)
  assert.equal(table.match('POST', '/__svc/api/sites/a/isolate/flush')?.kind, 'endpoint', 'for the machine itself, always')
})

test('another method gets the allowed ones; HEAD is answered where GET is', () => {
  const table = new EndpointTable(listEndpoints(all))
  const allowOf = (method: string, path: string) => {
    const match = table.match(method, path)
    return match?.kind === 'wrong-method' ? match.allow : match?.kind
  }
  assert.equal(allowOf('HEAD', '/health'), 'endpoint')
  assert.equal(allowOf('POST', '/health'), 'GET, HEAD')
  assert.equal(allowOf('GET', '/__svc/cache/purge-l0'), 'POST')
  assert.equal(allowOf('HEAD', '/__svc/cache/purge-l0'), 'POST')
  assert.equal(allowOf('DELETE', '/__svc/api/sites/a/isolate/flush'), 'POST')
})

test('parameters of a path are one segment each, decoded', () => {
  const table = new EndpointTable(listEndpoints(all))
  const paramsOf = (path: string) => {
    const match = table.match('POST', path)
    return match?.kind === 'endpoint' ? match.params : match?.kind
  }
  assert.deepEqual(paramsOf('/__svc/api/sites/a%20b/isolate/flush'), { id: 'a b' })
  assert.equal(paramsOf('/__svc/api/sites/a/b/isolate/flush'), 'unknown')
  assert.equal(paramsOf('/__svc/api/sites/%ff/isolate/flush'), 'unknown')
  assert.deepEqual(paramsOf('/api/sites/a/isolate/flush'), { id: 'a' })
  assert.equal(paramsOf('/api/sites/%ff/isolate/flush'), undefined)
})

test('the health report is 200 when healthy and 503 when degraded, liveness is 503 while draining', async () => {
  assert.equal((await answerOf(all, '/__svc/health')).status, 200)
  const degraded = new FakePlane()
  degraded.health = async () => ({ status: 'degraded', uptime_secs: 1, checks: { disk_space: 'degraded: full' } })
  assert.equal((await answerOf(all, '/__svc/health', degraded)).status, 503)
  assert.equal((await answerOf(all, '/health', degraded)).status, 200)
  degraded.isDraining = () => true
  assert.equal((await answerOf(all, '/health', degraded)).status, 503)
})

test('the health report names its components only where it is wanted', async () => {
  const bodyOf = async (hasHealthDetails: boolean) =>
    JSON.parse((await answerOf({ ...all, hasHealthDetails }, '/__svc/health')).body)
  assert.deepEqual(await bodyOf(true), { status: 'healthy', uptime_secs: 1, checks: { render_pool: 'ok' } })
  assert.deepEqual(await bodyOf(false), { status: 'healthy', uptime_secs: 1 })
})
