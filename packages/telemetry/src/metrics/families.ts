import type { MetricSet, MetricValue } from './metric-set.ts'

/** A number that hot code changes in place: `series.value++`. */
export interface Series {
  value: number
}

/** Name of a metric. */
interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

/** Past this many series of one family, new label values are all counted under the label value "other". */
const MAX_SERIES = 2000
const SEPARATOR = '\u0000'

function labelsOf(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

/** Hands out one entry per set of label values, and bounds how many there are. */
class SeriesTable<T> {
  readonly #labels: readonly string[]
  readonly #make: () => T
  readonly #entries = new Map<string, { labels: Record<string, string>; entry: T }>()

  constructor(labels: readonly string[], make: () => T) {
    this.#labels = labels
    this.#make = make
    if (labels.length === 0) this.get([])
  }

  get(values: readonly string[]): T {
    const key = values.join(SEPARATOR)
    const known = this.#entries.get(key)
    if (known !== undefined) return known.entry
    const isFull = this.#entries.size >= MAX_SERIES
    const used = isFull ? this.#labels.map(() => 'other') : values
    if (isFull && key !== used.join(SEPARATOR) && this.#entries.has(used.join(SEPARATOR))) return this.get(used)
    const entry = this.#make()
    this.#entries.set(used.join(SEPARATOR), { labels: labelsOf(this.#labels, used), entry })
    return entry
  }

  all(): Iterable<{ labels: Record<string, string>; entry: T }> {
    return this.#entries.values()
  }
}

/** A counter or gauge with label values; reading it costs nothing until it is scraped. */
export class NumberFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly #table: SeriesTable<Series>
  readonly #beforeRead: (() => void) | undefined

  /** `beforeRead` runs at each scrape, to set values that are only measured then. */
  constructor(type: 'counter' | 'gauge', options: MetricOptions, beforeRead?: () => void) {
    this.type = type
    this.name = options.name
    this.help = options.help
    this.#table = new SeriesTable(options.labels ?? [], () => ({ value: 0 }))
    this.#beforeRead = beforeRead
  }

  /** The series of these label values, in the order of the labels. Keep it where it is used often. */
  series(...labelValues: readonly string[]): Series {
    return this.#table.get(labelValues)
  }

  read(): MetricValue[] {
    this.#beforeRead?.()
    return Array.from(this.#table.all(), ({ labels, entry }) => ({ labels, value: entry.value }))
  }
}

/** Adds a metric without labels that is measured at each scrape. */
export function addMeasured(
  metrics: MetricSet,
  type: 'counter' | 'gauge',
  [name, help]: readonly [name: string, help: string],
  read: () => number,
): void {
  const family: NumberFamily = new NumberFamily(type, { name, help }, () => {
    family.series().value = read()
  })
  metrics.add(family)
}

/** Counts observations per bucket. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let i = 0
    while (i < this.#bounds.length && value > (this.#bounds[i] as number)) i++
    this.#counts[i] = (this.#counts[i] as number) + 1
    this.#sum += value
  }

  read(name: string, labels: Record<string, string>): MetricValue[] {
    let total = 0
    const buckets = this.#bounds.map((bound, i) => {
      total += this.#counts[i] as number
      return { metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: total }
    })
    total += this.#counts[this.#bounds.length] as number
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: total },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: total },
    ]
  }
}

/** Histograms with label values and one set of upper bounds. */
export class HistogramFamily {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #table: SeriesTable<Histogram>

  constructor(options: MetricOptions & { readonly buckets: readonly number[] }) {
    this.name = options.name
    this.help = options.help
    this.#table = new SeriesTable(options.labels ?? [], () => new Histogram(options.buckets))
  }

  series(...labelValues: readonly string[]): Histogram {
    return this.#table.get(labelValues)
  }

  read(): MetricValue[] {
    return Array.from(this.#table.all(), ({ labels, entry }) => entry.read(this.name, labels)).flat()
  }
}
