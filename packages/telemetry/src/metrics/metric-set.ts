import { AggregatorRegistry, type Metric, type MetricType, Registry } from 'prom-client'

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

function asPromMetric(source: MetricSource): Metric {
  const metric = {
    name: source.name,
    help: source.help,
    type: source.type,
    aggregator: 'sum',
    get: async () => ({
      name: source.name,
      help: source.help,
      type: source.type as unknown as MetricType,
      aggregator: 'sum' as const,
      values: source.read(),
    }),
    reset: () => undefined,
  }
  // A registry asks no more of a metric than these fields; its own classes cannot take bucket counts from elsewhere.
  return metric as unknown as Metric
}

/** All metrics of one process. */
export class MetricSet {
  readonly #registry = new Registry()

  /** Adds a source and returns it. Two with one name are a mistake. */
  add<Source extends MetricSource>(source: Source): Source {
    this.#registry.registerMetric(asPromMetric(source))
    return source
  }

  /** Input of `mergeMetrics`, plain data. */
  async toJson(): Promise<readonly MetricJson[]> {
    return (await this.#registry.getMetricsAsJSON()) as unknown as MetricJson[]
  }
}

type Snapshot = readonly MetricJson[]

/** Narrows prom-client's own type of this argument. */
function aggregate(snapshots: readonly Snapshot[]) {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]))
}

/**
 * Adds the counters and histograms of a process that has ended to those of earlier ones. Its gauges end with it.
 * Pass the last snapshot that was shown of it: then no total ever goes backwards.
 */
export async function keepTotals(kept: Snapshot, lastOfDead: Snapshot): Promise<Snapshot> {
  const totals = lastOfDead.filter((metric) => metric.type === 'counter' || metric.type === 'histogram')
  return (await aggregate([kept, totals]).getMetricsAsJSON()) as unknown as MetricJson[]
}

/** Sums the snapshots of all processes and the totals of dead ones, and formats the text exposition format 0.0.4. */
export function mergeMetrics(snapshots: readonly Snapshot[], kept: Snapshot): Promise<string> {
  return aggregate([...snapshots, kept]).metrics()
}
