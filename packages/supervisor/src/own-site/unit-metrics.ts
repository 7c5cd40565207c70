import { addDataCounts, addProcessMetrics, type MetricJson, MetricSet, type MetricValue, RenderMetrics } from '@svc/telemetry'
import type { MetricsProcess } from '../metrics/metrics-collector.ts'

/** Numbers above it lose counts in a sum. */
const MAX_VALUE = Number.MAX_SAFE_INTEGER
/** A render host has fewer families, and fewer series in one. */
const MAX_FAMILIES = 100
const MAX_VALUES = 100

const keyOf = (name: string, { metricName = name, labels }: MetricValue) => JSON.stringify([metricName, Object.entries(labels)])

/** The metrics of a render host without counts. None has labels that a site chooses. */
function everySeries(): readonly MetricJson[] {
  const metrics = new MetricSet()
  addProcessMetrics(metrics)
  addDataCounts(metrics)
  new RenderMetrics(metrics, () => ({ active: 0, idle: 0 }))
  return metrics.toJson().map((family) => ({ ...family, values: family.values.map((series) => ({ ...series, value: 0 })) }))
}

/** An array of objects, cut to a length. */
function objectsIn(list: unknown, most: number): Array<Partial<Record<string, unknown>>> {
  if (!Array.isArray(list)) return []
  return list.slice(0, most).filter((item) => typeof item === 'object' && item !== null)
}

function valuesIn(name: string, values: unknown): Map<string, number> {
  const all = objectsIn(values, MAX_VALUES).flatMap(({ metricName, labels, value }) => {
    const isValid = typeof value === 'number' && value >= 0 && value <= MAX_VALUE && typeof labels === 'object' && labels !== null
    const key = () => keyOf(name, { metricName: metricName as string, labels: labels as MetricValue['labels'], value: 0 })
    return isValid ? ([[key(), value]] as const) : []
  })
  return new Map(all)
}

/**
 * The metrics of a unit's render host. A unit runs as the user of its site and may send anything: of that, the series that a render
 * host has are taken, with names and descriptions of our own, and no counter of them goes backwards.
 */
export class UnitMetrics implements MetricsProcess {
  readonly peer: MetricsProcess['peer']
  #last = everySeries()

  constructor(peer: MetricsProcess['peer']) {
    this.peer = {
      call: async (name, request, options) => {
        const { metrics } = await peer.call(name, request, options)
        this.#last = this.#next(metrics)
        return { metrics: this.#last }
      },
    }
  }

  #next(metrics: unknown): readonly MetricJson[] {
    const sent = new Map(objectsIn(metrics, MAX_FAMILIES).map(({ name, values }) => [name, values]))
    return this.#last.map((family) => {
      const values = valuesIn(family.name, sent.get(family.name))
      const valueIn = (series: MetricValue) => {
        const value = values.get(keyOf(family.name, series)) ?? 0
        return family.type === 'gauge' ? value : Math.max(value, series.value)
      }
      return { ...family, values: family.values.map((series) => ({ ...series, value: valueIn(series) })) }
    })
  }
}
