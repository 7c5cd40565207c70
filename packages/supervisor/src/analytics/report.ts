import type { AnalyticsReport, TrafficWindow } from '@svc/protocol'
import type { HeavyHitters, LatencySketch, TopLists, TrafficTotals } from '@svc/telemetry'
import { MINUTE_MS } from './live-traffic.ts'
import { HOUR_MS } from './traffic-files.ts'

/** How a window of time is shown. `topKind`: the coarsest files with its top names; `keepMs`: how long a report is used again. */
interface WindowSteps {
  readonly stepMs: number
  readonly steps: number
  readonly topKind: 'tops' | 'hours'
  readonly keepMs: number
}

export const windows: Readonly<Record<TrafficWindow, WindowSteps>> = {
  '5m': { stepMs: MINUTE_MS, steps: 5, topKind: 'tops', keepMs: 0 },
  '1h': { stepMs: MINUTE_MS, steps: 60, topKind: 'tops', keepMs: 2_000 },
  '24h': { stepMs: 15 * MINUTE_MS, steps: 96, topKind: 'hours', keepMs: 5_000 },
  '7d': { stepMs: HOUR_MS, steps: 168, topKind: 'hours', keepMs: 5_000 },
}

/** Names of each list in a report. */
const TOP = 10

/** Makes the report of a window of time. */
export function reportOf(
  steps: readonly { readonly at: number; readonly totals: TrafficTotals }[],
  stepMs: number,
  { paths, referrers, clients }: TopLists,
): AnalyticsReport {
  return {
    step_secs: stepMs / 1000,
    buckets: steps.map(({ at, totals }) => ({ at: new Date(at).toISOString(), ...figuresOf(totals) })),
    top: { paths: topOf(paths), referrers: topOf(referrers), clients: topOf(clients) },
  }
}

/** The figures of totals, as reports have them. */
function figuresOf(totals: TrafficTotals): Omit<AnalyticsReport['buckets'][number], 'at'> {
  const { requests, bytes, misses, latency } = totals
  return {
    requests,
    status: {
      '1xx': totals.status(1),
      '2xx': totals.status(2),
      '3xx': totals.status(3),
      '4xx': totals.status(4),
      '5xx': totals.status(5),
    },
    bytes,
    hits: { l0: totals.hits('l0'), isr: totals.hits('isr'), proxy: totals.hits('proxy') },
    misses,
    ...latenciesOf(latency),
  }
}

/** The quantiles that reports have. */
export function latenciesOf(latency: LatencySketch): Pick<AnalyticsReport['buckets'][number], 'p50_ms' | 'p95_ms' | 'p99_ms'> {
  return { p50_ms: quantile(latency, 0.5), p95_ms: quantile(latency, 0.95), p99_ms: quantile(latency, 0.99) }
}

/** Null: there were no requests. */
function quantile(latency: LatencySketch, q: number): number | null {
  return latency.count === 0 ? null : Math.round(latency.quantile(q) * 1000) / 1000
}

function topOf(names: HeavyHitters): AnalyticsReport['top']['paths'] {
  return names.top(TOP).filter(({ count }) => count > 0)
}
