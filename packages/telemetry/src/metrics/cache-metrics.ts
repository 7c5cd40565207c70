import { NumberFamily, type Series } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** The shared layers that `cache_*` metrics tell apart: `l1` is the ISR store of the instance, `l2` the shared key-value store. */
export type CacheLayer = 'l1' | 'l2'

/** The `cache_*` and `isr_*` metrics of a worker, and the `svc_proxy_*` ones of the proxy cache. */
export class CacheMetrics {
  readonly hits: Readonly<Record<CacheLayer, Series>>
  readonly misses: Readonly<Record<CacheLayer, Series>>
  readonly evictions: Readonly<Record<CacheLayer, Series>>
  /** Requests that joined a render under way. */
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
    this.hits = layered('cache_hits_total', 'Responses found in a cache layer.')
    this.misses = layered('cache_misses_total', 'Look-ups that a cache layer could not answer.')
    this.evictions = layered('cache_evictions_total', 'Entries dropped to stay within the bounds of a layer.')
    this.coalesced = counter('cache_stampede_coalesced_total', 'Requests that waited for the render of another.').series()
    const revalidations = counter('isr_revalidations_total', 'Background renders of stale entries.', ['status'])
    this.revalidations = { success: revalidations.series('success'), error: revalidations.series('error') }
    this.proxyHits = counter('svc_proxy_hits_total', 'Responses from the proxy and FastCGI cache.').series()
    this.proxyMisses = counter('svc_proxy_misses_total', 'Look-ups that the proxy and FastCGI cache could not answer.').series()
  }
}

/** The gauge of kept entries; reported by the process that owns the store alone, or the sum would count them twice. */
export function addCacheEntries(metrics: MetricSet, count: Readonly<Partial<Record<CacheLayer, () => number>>>): void {
  const options = { name: 'cache_entries', help: 'Entries kept in a cache layer.', labels: ['layer'] }
  const family: NumberFamily = new NumberFamily('gauge', options, () => {
    for (const [layer, read] of Object.entries(count)) family.series(layer).value = read()
  })
  metrics.add(family)
}
