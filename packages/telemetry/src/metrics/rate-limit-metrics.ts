import { addMeasured } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** Adds the figures of the rate limit in a worker. */
export function addLimiterMetrics(
  metrics: MetricSet,
  figures: { readonly refused: () => number; readonly decidedHere: () => number },
): void {
  const refused = ['svc_rate_limit_refused_total', 'Requests refused with 429 by the rate limit.'] as const
  addMeasured(metrics, 'counter', refused, figures.refused)
  const help = 'Requests that a worker decided on by itself, since the count of all workers was late.'
  addMeasured(metrics, 'counter', ['svc_rate_limit_local_decisions_total', help], figures.decidedHere)
}

/** Adds the figures of the rate limit in the master. */
export function addRateLimitMetrics(
  metrics: MetricSet,
  figures: { readonly counted: () => number; readonly localSlices: () => number },
): void {
  addMeasured(metrics, 'gauge', ['svc_rate_limit_clients', 'Clients that the rate limit counts.'], figures.counted)
  const help = 'Slices of budgets that this instance gave by itself, since Redis was away or late.'
  addMeasured(metrics, 'counter', ['svc_rate_limit_local_slices_total', help], figures.localSlices)
}
