import { addMeasured, NumberFamily, type Series } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** The shared layers that `cache_*` metrics tell apart: `l1` is the ISR store of the instance, `l2` the shared key-value store. */
type CacheLayer = 'l1' | 'l2'

/** Look-ups of the data cache, and those that it makes in the shared store. */
export interface DataCounts {
  readonly hits: Series
  readonly misses: Series
  readonly l2: { readonly hits: Series; readonly misses: Series }
}

/** Adds the look-ups of data by the code of sites. The entries lie in the ISR store and are counted there. */
export function addDataCounts(metrics: MetricSet): DataCounts {
  const counter = (name: string, help: string) => metrics.add(new NumberFamily('counter', { name, help })).series()
  return {
    hits: counter('svc_data_hits_total', 'Look-ups of data by sites that the data cache could answer.'),
    misses: counter('svc_data_misses_total', 'Look-ups of data by sites that the data cache could not answer.'),
    l2: {
      hits: counter('svc_data_l2_hits_total', 'Look-ups of data that another instance had made.'),
      misses: counter('svc_data_l2_misses_total', 'Look-ups of data that no instance had made.'),
    },
  }
}

/** The `cache_*` and `isr_*` metrics of a worker, and the `svc_proxy_*` ones of the proxy cache. */
export class CacheMetrics {
  readonly hits: Readonly<Record<CacheLayer, Series>>
  readonly misses: Readonly<Record<CacheLayer, Series>>
  readonly evictions: Readonly<Record<CacheLayer, Series>>
  /** Requests that joined a render in flight. */
  readonly coalesced: Series
  readonly revalidations: Readonly<Record<'success' | 'error', Series>>
  readonly proxyHits: Series
  readonly proxyMisses: Series

  constructor(metrics: MetricSet) {
    const counter = (name: string, help: string, labels: readonly string[] = []) =>
      metrics.add(new NumberFamily('counter', { name, help, labels }))
    const layered = (name: string, help: string) => {
      const family = counter(name, help, ['layer'])
      return { l1: family.series('l1'), l2: family.series('l2') }
    }
    this.hits = layered('cache_hits_total', 'Look-ups that a cache layer could answer.')
    this.misses = layered('cache_misses_total', 'Look-ups that a cache layer could not answer.')
    this.evictions = layered('cache_evictions_total', 'Entries dropped to stay within the bounds of a layer.')
    this.coalesced = counter('cache_stampede_coalesced_total', 'Requests that waited for the render of another.').series()
    const revalidations = counter('isr_revalidations_total', 'Background renders of stale entries.', ['status'])
    this.revalidations = { success: revalidations.series('success'), error: revalidations.series('error') }
    this.proxyHits = counter('svc_proxy_hits_total', 'Responses from the proxy and FastCGI cache.').series()
    this.proxyMisses = counter('svc_proxy_misses_total', 'Look-ups that the proxy and FastCGI cache could not answer.').series()
  }
}

/** Adds the gauge of stored entries. Reported by the process that owns the store alone, or the sum would count them twice. */
export function addCacheEntries(metrics: MetricSet, count: Readonly<Partial<Record<CacheLayer, () => number>>>): void {
  const options = { name: 'cache_entries', help: 'Entries kept in a cache layer.', labels: ['layer'] }
  const family: NumberFamily = new NumberFamily('gauge', options, () => {
    for (const [layer, read] of Object.entries(count)) family.series(layer).value = read()
  })
  metrics.add(family)
}

/** Contents of L0, read at each scrape. */
interface L0Figures {
  readonly entries: number
  readonly bytes: number
  /** Since the process began. */
  readonly evictions: number
}

/** The `svc_l0_*` metrics of a worker. */
export class L0Metrics {
  readonly hits: Series
  readonly misses: Series

  constructor(metrics: MetricSet, figures: () => L0Figures) {
    const counter = (name: string, help: string) => metrics.add(new NumberFamily('counter', { name, help })).series()
    this.hits = counter('svc_l0_hits_total', 'Responses from the in-process hot-path cache.')
    this.misses = counter('svc_l0_misses_total', 'Look-ups that the hot-path cache could not answer.')
    addMeasured(metrics, 'gauge', ['svc_l0_entries', 'Responses in the hot-path cache.'], () => figures().entries)
    addMeasured(metrics, 'gauge', ['svc_l0_bytes', 'Memory of the hot-path cache.'], () => figures().bytes)
    const evicted = ['svc_l0_evictions_total', 'Responses dropped to keep the hot-path cache within its bound.'] as const
    addMeasured(metrics, 'counter', evicted, () => figures().evictions)
  }
}

/** The share of one site in a store. */
export interface SiteShare {
  readonly label: string
  readonly entries: number
  readonly bytes: number
  /** Since the store was opened. */
  readonly evictions: number
}

/** The `svc_<layer>_site_*` metrics: the share of each site in a shared store. Reported by the process that owns the store alone. */
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
