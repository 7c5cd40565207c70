import assert from 'node:assert/strict'

/** One line of a scrape. */
export interface MetricValue {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  /** Set for the parts of a histogram. */
  readonly metricName?: string
}

/** Something that is scraped: a family of this package, or values measured at the moment. */
interface MetricSource {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  read(): MetricValue[]
}

/** A metric as it crosses processes. */
export interface MetricJson {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly aggregator: 'sum'
  readonly values: readonly MetricValue[]
}

/** All metrics of one process. */
export class MetricSet {
  readonly #sources = new Map<string, MetricSource>()

  /** Adds a source and returns it. Two with one name are a mistake. */
  add<Source extends MetricSource>(source: Source): Source {
    assert(!this.#sources.has(source.name), `two metrics have the name ${source.name}`)
    this.#sources.set(source.name, source)
    return source
  }

  /** Input of `mergeMetrics`, plain data. */
  toJson(): readonly MetricJson[] {
    return Array.from(this.#sources.values(), (source) => {
      const { name, help, type } = source
      return { name, help, type, aggregator: 'sum', values: source.read() }
    })
  }
}

type Snapshot = readonly MetricJson[]

/** Loads the library with the first scrape: it costs a third of the time that a program takes to start. */
async function aggregate(snapshots: readonly Snapshot[]) {
  // A bundle has no names of a CommonJS module but this one.
  const { AggregatorRegistry } = (await import('prom-client')).default
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]))
}

/**
 * Adds the counters and histograms of a process that has ended to those of earlier ones. Its gauges end with it.
 * Pass the last snapshot that was shown of it: then no total ever goes backwards.
 */
export async function keepTotals(kept: Snapshot, lastOfDead: Snapshot): Promise<Snapshot> {
  const totals = lastOfDead.filter((metric) => metric.type === 'counter' || metric.type === 'histogram')
  return sumMetrics([kept, totals])
}

/** Sums snapshots, those of all processes and the totals of dead ones. */
export async function sumMetrics(snapshots: readonly Snapshot[]): Promise<readonly MetricJson[]> {
  return (await (await aggregate(snapshots)).getMetricsAsJSON()) as unknown as MetricJson[]
}

/** Sums snapshots like `sumMetrics`, and formats the text exposition format 0.0.4. */
export async function mergeMetrics(snapshots: readonly Snapshot[]): Promise<string> {
  return (await aggregate(snapshots)).metrics()
}
