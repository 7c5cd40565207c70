import { NumberFamily } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** Adds `svc_trace_spans_total`. */
export function addTraceMetrics(metrics: MetricSet, read: () => { readonly exported: number; readonly dropped: number }): void {
  const help = 'Spans of sampled requests: taken by the collector, or dropped since it is away or too slow.'
  const family: NumberFamily = new NumberFamily('counter', { name: 'svc_trace_spans_total', help, labels: ['outcome'] }, () => {
    const { exported, dropped } = read()
    family.series('exported').value = exported
    family.series('dropped').value = dropped
  })
  metrics.add(family)
}
