import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControlPlane } from '../src/index.ts'
import { EndpointTable, listEndpoints } from '../src/index.ts'

const all = {
  hasHealthDetails: true,
  healthGroup: true,
  metricsGroup: true,
  healthPaths: ['/__svc/health', '/__svc/health'],
  metricsPaths: ['/__svc/metrics', '/metrics'],
}

function plane(overrides: Partial<ControlPlane> = {}): ControlPlane {
  return {
    health: async () => ({ status: 'healthy', uptime_secs: 1, checks: { render_pool: 'ok' } }),
    metrics: async () => 'up 1\n',
    isDraining: () => false,
    ...overrides,
  }
}

test('a path of the reserved space that nothing serves lists what is served, once each', () => {
  const table = new EndpointTable(listEndpoints(all))
  assert.equal(table.match('GET', '/__svc/nothing')?.kind, 'unknown')
  const answer = table.unknownAnswer()
  assert.equal(answer.status, 404)
  const body = JSON.parse(answer.body)
  assert.equal(body.code, 'unknown_endpoint')
  assert.deepEqual(
    body.endpoints.map((entry: { path: string }) => entry.path),
    ['/health', '/__svc/health', '/__svc/metrics', '/metrics'],
  )
})

test('a disabled group is not listed, and its path outside of the reserved space is nobody’s', () => {
  const table = new EndpointTable(listEndpoints({ ...all, healthGroup: false }))
  assert.equal(table.match('GET', '/health'), undefined)
  assert.equal(table.match('GET', '/__svc/health')?.kind, 'unknown')
  assert.doesNotMatch(table.unknownAnswer().body, /health/)
})

test('HEAD is answered, another method gets the allowed ones', () => {
  const table = new EndpointTable(listEndpoints(all))
  assert.equal(table.match('HEAD', '/health')?.kind, 'endpoint')
  assert.deepEqual(table.match('POST', '/health'), { kind: 'wrong-method', allow: 'GET, HEAD' })
})

test('the health report is 200 when healthy and 503 when degraded, liveness is 503 while draining', async () => {
  const table = new EndpointTable(listEndpoints(all))
  const statusOf = async (path: string, controlPlane: ControlPlane) => {
    const match = table.match('GET', path)
    assert.ok(match?.kind === 'endpoint')
    return (await match.endpoint.handle(controlPlane)).status
  }
  assert.equal(await statusOf('/__svc/health', plane()), 200)
  const degraded = plane({
    health: async () => ({ status: 'degraded', uptime_secs: 1, checks: { disk_space: 'degraded: full' } }),
  })
  assert.equal(await statusOf('/__svc/health', degraded), 503)
  assert.equal(await statusOf('/health', degraded), 200)
  assert.equal(await statusOf('/health', plane({ isDraining: () => true })), 503)
})

test('the health report names its components only where it is wanted', async () => {
  const bodyOf = async (hasHealthDetails: boolean) => {
    const match = new EndpointTable(listEndpoints({ ...all, hasHealthDetails })).match('GET', '/__svc/health')
    assert.ok(match?.kind === 'endpoint')
    return JSON.parse((await match.endpoint.handle(plane())).body)
  }
  assert.deepEqual(await bodyOf(true), { status: 'healthy', uptime_secs: 1, checks: { render_pool: 'ok' } })
  assert.deepEqual(await bodyOf(false), { status: 'healthy', uptime_secs: 1 })
})
