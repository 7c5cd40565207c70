import type { Config } from '@svc/config'
import type { MetricJson, MetricValue } from '@svc/telemetry'
import type { Rule } from './rule.ts'

/** An alert of the configuration. */
type ConfiguredAlert = Config['obs']['alerts'][number]

/** Metrics of all processes, as each has them. */
type Snapshots = ReadonlyArray<readonly MetricJson[]>

/** A counter counts with its increase within this time. */
const WINDOW_MS = 300_000

/** Sum of the series that an alert watches. */
interface Sum {
  readonly value: number
  readonly isCounter: boolean
}

function hasLabels(labels: MetricValue['labels'], wanted: ReadonlyArray<readonly [name: string, value: string]>): boolean {
  return wanted.every(([name, value]) => String(labels[name] ?? '') === value)
}

/** The parts of a histogram are metrics of their own: `_bucket`, `_sum` and `_count`. */
function familyOf(metric: string): string {
  return metric.replace(/_(?:bucket|sum|count)$/, '')
}

/**
 * Sums up the series of a metric that have these labels, of all processes. Undefined: there is none. A counter without such a series
 * is 0: it has one from its first event on.
 */
function sumOf(snapshots: Snapshots, { metric, labels }: Pick<ConfiguredAlert, 'metric' | 'labels'>): Sum | undefined {
  const wanted = Object.entries(labels)
  const family = familyOf(metric)
  let sum: Sum | undefined
  for (const snapshot of snapshots) {
    const found = snapshot.find(({ name }) => name === metric) ?? snapshot.find(({ name }) => name === family)
    if (found === undefined) continue
    const isCounter = found.type !== 'gauge'
    if (isCounter) sum ??= { value: 0, isCounter }
    for (const series of found.values) {
      if ((series.metricName ?? found.name) !== metric || !hasLabels(series.labels, wanted)) continue
      sum = { value: (sum?.value ?? 0) + series.value, isCounter }
    }
  }
  return sum
}

/** A value that a counter had. */
interface Sample {
  readonly at: number
  readonly value: number
}

/** Increase of a counter. `isWhole`: its values reach back to the beginning of the window. */
interface Increase {
  readonly value: number
  readonly isWhole: boolean
}

/**
 * Returns the samples of the window up to `now`, the last one of the time before it included, and the increase from the first to the
 * last. All times are of a monotonic clock.
 */
function takeSample(
  samples: readonly Sample[],
  sample: Sample,
): { readonly samples: readonly Sample[]; readonly increase: Increase } {
  const begin = sample.at - WINDOW_MS
  const firstWithin = samples.findIndex(({ at }) => at > begin)
  const kept = [...(firstWithin === -1 ? samples.slice(-1) : samples.slice(Math.max(0, firstWithin - 1))), sample]
  const first = kept[0] ?? sample
  return { samples: kept, increase: { value: sample.value - first.value, isWhole: first.at <= begin } }
}

function isTrueFor({ above, below }: ConfiguredAlert, { value, isWhole }: Increase): boolean {
  // An increase that is not whole can only grow.
  if (above !== undefined) return value > above
  return below !== undefined && isWhole && value < below
}

function conditionOf({ metric, labels, above, below, for_secs: forSecs }: ConfiguredAlert): string {
  return JSON.stringify([metric, Object.entries(labels).sort(), above, below, forSecs])
}

/** The alerts of the configuration, with the recent values of the counters that they watch. */
export class MetricRules {
  /** By the condition of the alert. */
  #samples = new Map<string, readonly Sample[]>()

  /** Judges the alerts. `siteOf` returns the site of a label. */
  judge(
    alerts: readonly ConfiguredAlert[],
    snapshots: Snapshots,
    { monotonic, siteOf }: { readonly monotonic: number; readonly siteOf: (label: string) => string | undefined },
  ): Rule[] {
    const before = this.#samples
    this.#samples = new Map()
    return alerts.map((alert) => {
      const condition = conditionOf(alert)
      const sum = sumOf(snapshots, alert)
      const increase = this.#increase(condition, sum, before.get(condition) ?? [], monotonic)
      const site = siteOf(alert.labels['site'] ?? '')
      const isTrue = increase !== undefined && isTrueFor(alert, increase)
      const reading = { ...(site === undefined ? {} : { site }), subject: '', value: increase?.value ?? null, isTrue }
      const unit = sum?.isCounter === true ? 'in 5 minutes' : ''
      const { name, hint, for_secs: forSecs } = alert
      return { source: 'configured', name, condition, forMs: forSecs * 1000, unit, hint, readings: [reading] }
    })
  }

  /** The value to compare: that of a gauge, or the increase of a counter. */
  #increase(condition: string, sum: Sum | undefined, before: readonly Sample[], at: number): Increase | undefined {
    if (sum === undefined) return undefined
    if (!sum.isCounter) return { value: sum.value, isWhole: true }
    const { samples, increase } = takeSample(before, { at, value: sum.value })
    this.#samples.set(condition, samples)
    return increase
  }
}
