import { NumberFamily } from '../metrics/families.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { SpanCounts } from './span-queue.ts'

/** Adds `svc_trace_spans_total`. */
export function addTraceMetrics(metrics: MetricSet, read: () => Readonly<SpanCounts>): void {
  const help =
    'Spans taken by the collector, dropped since it is away or too slow, or not made since too many requests are sampled.'
  const family: NumberFamily = new NumberFamily('counter', { name: 'svc_trace_spans_total', help, labels: ['outcome'] }, () => {
    const { exported, dropped, limited } = read()
    family.series('exported').value = exported
    family.series('dropped').value = dropped
    family.series('limited').value = limited
  })
  metrics.add(family)
}
