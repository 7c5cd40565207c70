import type { HrTime } from '@opentelemetry/api'
import type { MetricData } from '@opentelemetry/sdk-metrics'
import type { MetricJson, MetricValue } from '../metrics/metric-set.ts'

/** Values of the SDK's enumerations, which are in a module that is loaded only when there is a collector. */
const CUMULATIVE = 1
const HISTOGRAM = 0
const GAUGE = 2
const SUM = 3
const DOUBLE = 1

/** The time that counters have counted for. */
interface MetricPeriod {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/** Metrics of the instance, summed over its processes, as OTLP has them: cumulative since the start. */
export function metricData(metrics: readonly MetricJson[], period: MetricPeriod): MetricData[] {
  return metrics.map((metric) => {
    const { name, help, type, values } = metric
    const common = {
      descriptor: { name, description: help, unit: unitOf(name), valueType: DOUBLE },
      aggregationTemporality: CUMULATIVE,
    } as const
    if (type === 'histogram') return { ...common, dataPointType: HISTOGRAM, dataPoints: histogramPoints(values, period) }
    const dataPoints = values.map(({ labels, value }) => ({ ...period, attributes: { ...labels }, value }))
    return type === 'counter'
      ? { ...common, dataPointType: SUM, isMonotonic: true, dataPoints }
      : { ...common, dataPointType: GAUGE, dataPoints }
  })
}

/** Units in UCUM, by the endings of names that Prometheus recommends. */
function unitOf(name: string): string {
  const base = name.replace(/_total$/, '')
  if (base.endsWith('_seconds')) return 's'
  return base.endsWith('_bytes') ? 'By' : ''
}

interface HistogramParts {
  readonly attributes: Record<string, string | number>
  /** Upper bounds with the counts below them. */
  readonly buckets: [bound: number, count: number][]
  sum: number
  count: number
}

/** Prometheus counts each bucket with all smaller ones, OTLP by itself. */
function histogramPoints(values: readonly MetricValue[], period: MetricPeriod) {
  return Array.from(partsOf(values), ({ attributes, buckets, sum, count }) => {
    const sorted = buckets.toSorted(([one], [other]) => one - other)
    const counts = sorted.map(([, below], i) => below - (sorted[i - 1]?.[1] ?? 0))
    const boundaries = sorted.map(([bound]) => bound).filter(Number.isFinite)
    return { ...period, attributes, value: { buckets: { boundaries, counts }, sum, count } }
  })
}

function partsOf(values: readonly MetricValue[]): Iterable<HistogramParts> {
  const found = new Map<string, HistogramParts>()
  for (const { labels, value, metricName = '' } of values) {
    const { le, ...attributes } = labels
    const key = JSON.stringify(Object.entries(attributes).toSorted())
    const parts = found.get(key) ?? { attributes, buckets: [], sum: 0, count: 0 }
    found.set(key, parts)
    if (le !== undefined) parts.buckets.push([le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), value])
    else if (metricName.endsWith('_sum')) parts.sum = value
    else parts.count = value
  }
  return found.values()
}
