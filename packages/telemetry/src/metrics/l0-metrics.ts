import { NumberFamily, type Series } from './families.ts'
import type { MetricSet } from './metric-set.ts'

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
    const measured = (type: 'counter' | 'gauge', name: string, help: string, read: (figures: L0Figures) => number) => {
      const family: NumberFamily = new NumberFamily(type, { name, help }, () => {
        family.series().value = read(figures())
      })
      metrics.add(family)
    }
    measured('gauge', 'svc_l0_entries', 'Responses in the hot-path cache.', ({ entries }) => entries)
    measured('gauge', 'svc_l0_bytes', 'Memory of the hot-path cache.', ({ bytes }) => bytes)
    const evicted = 'Responses dropped to keep the hot-path cache within its bound.'
    measured('counter', 'svc_l0_evictions_total', evicted, ({ evictions }) => evictions)
  }
}
