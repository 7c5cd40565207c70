import { NumberFamily, type Series } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** The figures of the firewall in a worker. */
export class WafMetrics {
  readonly #matches: NumberFamily
  readonly #uninspected: NumberFamily
  /** Matches without a line in the log, because there were too many. */
  readonly unlogged: Series
  /** Matches of rules with a rate that were not acted on, since the master did not reply in time. */
  readonly undecided: Series

  constructor(metrics: MetricSet) {
    const help = 'Requests that a rule or pack of the firewall matched.'
    this.#matches = new NumberFamily('counter', { name: 'svc_waf_matches_total', help, labels: ['rule', 'action'] })
    const rest = 'Requests of which the firewall looked at the beginning of a part alone, since it was longer than the limit.'
    this.#uninspected = new NumberFamily('counter', { name: 'svc_waf_uninspected_total', help: rest, labels: ['part'] })
    const lines = 'Matches of the firewall without a line in the log, since there were too many in a second.'
    const unlogged = new NumberFamily('counter', { name: 'svc_waf_unlogged_total', help: lines })
    const late = 'Matches of rules with a rate that had no effect, since the count of all workers was late.'
    const undecided = new NumberFamily('counter', { name: 'svc_waf_undecided_total', help: late })
    for (const family of [this.#matches, this.#uninspected, unlogged, undecided]) metrics.add(family)
    this.unlogged = unlogged.series()
    this.undecided = undecided.series()
  }

  matched(rule: string, action: string): void {
    this.#matches.series(rule, action).value++
  }

  uninspected(part: 'head' | 'body'): void {
    this.#uninspected.series(part).value++
  }
}
