import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointEvents } from '../src/contract/endpoint.ts'
import { summary } from '../src/endpoints/obs/summary.ts'
import { planeOfTenant } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'
import { FakePlane, traffic } from './fake-plane.ts'
import { noRequest } from './request.ts'

const ANALYTICS = '/__svc/obs/analytics'
const get = (path: string) => callEndpoint(path, { method: 'GET' })

test('analytics are about the named site, or about all sites together', async () => {
  const one = await get(`${ANALYTICS}?site=shop&window=24h`)
  assert.deepEqual(one.plane.calls, [{ analytics: { sites: ['shop'], window: '24h' } }])
  assert.deepEqual(one.json, { ok: true, site: 'shop', window: '24h', ...traffic })
  const all = await get(ANALYTICS)
  assert.deepEqual(all.plane.calls, [{ analytics: { sites: ['shop', 'blog', 'blog-old'], window: '1h' } }])
  assert.equal((all.json as { site: unknown }).site, null)
})

test('analytics of an unknown site are not there', async () => {
  const unknown = await get(`${ANALYTICS}?site=nope`)
  assert.deepEqual([unknown.status, unknown.problem?.code], [404, 'unknown_site'])
})

test('a tenant reads analytics and the summary of its own sites, and nothing of the instance', async () => {
  const plane = new FakePlane()
  const own = planeOfTenant(plane, 'acme')
  await own.analytics({ window: '1h' })
  await own.analytics({ window: '1h', sites: ['shop', 'blog'] })
  const { instance } = await own.summary({})
  assert.deepEqual(plane.calls, [
    { analytics: { window: '1h', sites: ['shop'] } },
    { analytics: { window: '1h', sites: ['shop'] } },
    { summary: { sites: ['shop'] } },
  ])
  assert.equal(instance, undefined)
})

test('the summary counts the alerts that fire', async () => {
  const { json } = await get('/__svc/obs/summary')
  const { alerts, instance } = json as { alerts: unknown; instance: unknown }
  assert.deepEqual(alerts, { firing: 1, pending: 1, silenced: 0 })
  assert.ok(instance !== undefined)
})

test('the summary is sent as events at intervals, until the client leaves or the master is unreachable', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const plane = new FakePlane()
  const { events } = (await summary.handle(plane, { ...noRequest, query: { stream: '1' } })) as EndpointEvents
  const sent: unknown[] = []
  let ends = 0
  const sink = { send: (data: unknown) => sent.push(data), dropped: () => undefined, end: () => ends++ }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const stop = events(sink)
  await settled()
  assert.deepEqual((sent[0] as { alerts: unknown }).alerts, { firing: 1, pending: 1, silenced: 0 })
  t.mock.timers.tick(4_999)
  await settled()
  assert.equal(sent.length, 1)
  t.mock.timers.tick(1)
  await settled()
  assert.equal(sent.length, 2)
  stop()
  t.mock.timers.tick(60_000)
  await settled()
  assert.deepEqual([sent.length, ends], [2, 0])
  plane.summary = () => Promise.reject(new Error('the master is unreachable'))
  events(sink)
  await settled()
  t.mock.timers.tick(60_000)
  await settled()
  assert.deepEqual([sent.length, ends], [2, 1])
})
