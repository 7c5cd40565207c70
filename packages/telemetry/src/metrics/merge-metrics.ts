import { AggregatorRegistry } from 'prom-client'
import type { MetricJson } from './metric-set.ts'

type Snapshot = readonly MetricJson[]

/** Narrows prom-client's own type of this argument. */
function aggregate(snapshots: readonly Snapshot[]) {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]))
}

/**
 * Adds the counters and histograms of a process that has ended to what is kept of earlier ones. Its gauges end with it.
 * Pass the last snapshot that was shown of it: then no total ever goes backwards.
 */
export async function keepTotals(kept: Snapshot, lastOfDead: Snapshot): Promise<Snapshot> {
  const totals = lastOfDead.filter((metric) => metric.type === 'counter' || metric.type === 'histogram')
  return (await aggregate([kept, totals]).getMetricsAsJSON()) as unknown as MetricJson[]
}

/** Sums the snapshots of all processes and what is kept of dead ones, and formats the text exposition format 0.0.4. */
export function mergeMetrics(snapshots: readonly Snapshot[], kept: Snapshot): Promise<string> {
  return aggregate([...snapshots, kept]).metrics()
}
