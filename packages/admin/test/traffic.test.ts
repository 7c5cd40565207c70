import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planeOfTenant } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'
import { FakePlane, traffic } from './fake-plane.ts'

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
  assert.deepEqual(alerts, { firing: 1, pending: 1 })
  assert.ok(instance !== undefined)
})
