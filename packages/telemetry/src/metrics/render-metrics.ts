import { addMeasured, type Histogram, HistogramFamily, NumberFamily, type Series } from './families.ts'
import { DURATION_BUCKETS } from './http-metrics.ts'
import type { MetricSet } from './metric-set.ts'

/** Threads of all pools of a render host at the moment of a scrape. */
interface PoolGauges {
  /** Threads with at least one render in flight. */
  readonly active: number
  readonly idle: number
}

/** The `render_*` metrics of a render host. */
export class RenderMetrics {
  /** Seconds from entering the isolate to the end of the body. */
  readonly duration: Histogram
  /** Seconds spent waiting for a place in a pool. */
  readonly wait: Histogram
  /** Isolates disposed for going past their memory limit. */
  readonly oomKills: Series

  /** `pools` is asked at each scrape. */
  constructor(metrics: MetricSet, pools: () => PoolGauges) {
    addMeasured(metrics, 'gauge', ['render_pool_active', 'Render threads at work.'], () => pools().active)
    addMeasured(metrics, 'gauge', ['render_pool_idle', 'Render threads without work.'], () => pools().idle)
    addMeasured(metrics, 'gauge', ['render_pool_total', 'Render threads.'], () => pools().active + pools().idle)
    const histogram = (name: string, help: string) =>
      metrics.add(new HistogramFamily({ name, help, buckets: DURATION_BUCKETS })).series()
    this.duration = histogram('render_duration_seconds', 'Time of one render in its isolate.')
    this.wait = histogram('render_pool_wait_seconds', 'Time a render waited for a place in a pool.')
    const oomKills = { name: 'render_oom_kills_total', help: 'Isolates disposed for going past their memory limit.' }
    this.oomKills = metrics.add(new NumberFamily('counter', oomKills)).series()
  }
}
