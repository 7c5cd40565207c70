import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSiteShares, MetricSet, type SiteShare } from '../src/index.ts'

test('each site has its part of a store, and none once it has nothing', async () => {
  const metrics = new MetricSet()
  let shares: SiteShare[] = [
    { label: 'a', entries: 3, bytes: 300, evictions: 7 },
    { label: 'b', entries: 1, bytes: 50, evictions: 0 },
  ]
  addSiteShares(metrics, 'isr', () => shares)
  const read = async () =>
    Object.fromEntries(
      metrics.toJson().flatMap(({ name, values }) => values.map(({ labels, value }) => [`${name} ${labels['site']}`, value])),
    )
  assert.deepEqual(await read(), {
    'svc_isr_site_entries a': 3,
    'svc_isr_site_entries b': 1,
    'svc_isr_site_bytes a': 300,
    'svc_isr_site_bytes b': 50,
    'svc_isr_site_evictions_total a': 7,
    'svc_isr_site_evictions_total b': 0,
  })
  shares = [{ label: 'a', entries: 4, bytes: 400, evictions: 9 }]
  assert.equal((await read())['svc_isr_site_entries a'], 4)
  assert.equal((await read())['svc_isr_site_entries b'], 0)
})
