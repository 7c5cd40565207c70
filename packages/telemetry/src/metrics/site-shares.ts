import { NumberFamily } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** How much of a store one site has. */
export interface SiteShare {
  readonly label: string
  readonly entries: number
  readonly bytes: number
  /** Since the store was begun. */
  readonly evictions: number
}

/** The `svc_<layer>_site_*` metrics: how much of a shared store each site has. Reported by the process that owns the store alone. */
export function addSiteShares(metrics: MetricSet, layer: 'isr' | 'proxy', read: () => readonly SiteShare[]): void {
  const add = (type: 'gauge' | 'counter', name: string, help: string, figureOf: (share: SiteShare) => number) => {
    const options = { name: `svc_${layer}_site_${name}`, help, labels: ['site'] }
    const known = new Set<string>()
    const family: NumberFamily = new NumberFamily(type, options, () => {
      for (const label of known) family.series(label).value = 0
      for (const share of read()) {
        known.add(share.label)
        // Past the bound of series several sites have one.
        family.series(share.label).value += figureOf(share)
      }
    })
    metrics.add(family)
  }
  add('gauge', 'entries', 'Entries of a site in a shared cache.', ({ entries }) => entries)
  add('gauge', 'bytes', 'Bytes of a site in a shared cache.', ({ bytes }) => bytes)
  const evicted = 'Entries of a site dropped to stay within the bounds of a shared cache.'
  add('counter', 'evictions_total', evicted, ({ evictions }) => evictions)
}
