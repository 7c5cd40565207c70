import type { PurgeLayer } from '@svc/cache'
import { guard } from '@svc/core'
import {
  addCacheEntries,
  addInstanceMetrics,
  addLogMetrics,
  addMeasured,
  addProcessMetrics,
  addRateLimitMetrics,
  addSiteShares,
  addUptimeMetric,
  type InstanceFigures,
  keepTotals,
  type MetricJson,
  MetricSet,
  mergeMetrics,
  NumberFamily,
  type Series,
  type SiteShare,
} from '@svc/telemetry'

const LAYERS: readonly PurgeLayer[] = ['l0', 'isr', 'proxy']

/** A process that can be queried for its metrics. */
export interface MetricsProcess {
  readonly peer: {
    call(name: 'metrics', request: undefined, options: { timeoutMs: number }): Promise<{ readonly metrics?: unknown }>
  }
}

const snapshot = guard.arrayOf(
  guard.object({
    name: guard.string,
    type: guard.string,
    aggregator: guard.oneOf('sum', 'first', 'omit', 'average', 'min', 'max'),
    values: guard.arrayOf(guard.object({ value: guard.number, labels: guard.recordOf(guard.anything) })),
  }),
) as unknown as guard.Guard<MetricJson[]>

/** The master's own measurements. */
interface MasterMetrics {
  readonly generation: () => number
  /** `metrics.include_process` of the configuration in service. */
  readonly includesProcess: () => boolean
  /** Workers and render hosts that serve at the moment. */
  readonly up: () => { readonly worker: number; readonly host: number }
  /** The ISR store: its entries are counted here alone, since all processes share it; evictions are those of the master. */
  readonly isr: { readonly entries: () => number; readonly evictions: () => number; readonly shares: () => readonly SiteShare[] }
  readonly proxy: { readonly shares: () => readonly SiteShare[] }
  /** undefined: no `redis.url` is set. */
  readonly redis?: { readonly figures: InstanceFigures } | undefined
  readonly rateLimits: { readonly counted: () => number; readonly localSlices: () => number }
  /** Lines that log files have lost. */
  readonly droppedLines: () => number
}

/**
 * Sums the metrics of all processes. A process that times out counts with its last values, and the totals of one that has ended
 * count on, so that no counter goes backwards.
 */
export class MetricsCollector {
  readonly #timeoutMs: number
  readonly #own = new MetricSet()
  readonly #deaths: NumberFamily
  readonly #purges: NumberFamily
  readonly #runs: NumberFamily
  readonly #stale: Series
  readonly #includesProcess: () => boolean
  readonly #seen = new Map<object, readonly MetricJson[]>()
  readonly #ended = new WeakSet<object>()
  #kept: Promise<readonly MetricJson[]> = Promise.resolve([])

  constructor(timeoutMs: number, master: MasterMetrics) {
    this.#timeoutMs = timeoutMs
    this.#includesProcess = master.includesProcess
    addProcessMetrics(this.#own)
    addUptimeMetric(this.#own)
    const stale = 'Processes that did not respond to this scrape in time: their last values count.'
    this.#stale = this.#own.add(new NumberFamily('gauge', { name: 'svc_scrape_stale_processes', help: stale })).series()
    addMeasured(this.#own, 'gauge', ['svc_config_generation', 'Number of the configuration in service.'], master.generation)
    const upOptions = { name: 'svc_processes_up', help: 'Processes that serve.', labels: ['kind'] }
    const up: NumberFamily = new NumberFamily('gauge', upOptions, () => {
      for (const [kind, count] of Object.entries(master.up())) up.series(kind).value = count
    })
    this.#own.add(up)
    addCacheEntries(this.#own, { l1: master.isr.entries })
    const evictions = {
      name: 'cache_evictions_total',
      help: 'Entries dropped to stay within the bounds of a layer.',
      labels: ['layer'],
    }
    const evicted: NumberFamily = new NumberFamily('counter', evictions, () => {
      evicted.series('l1').value = master.isr.evictions()
    })
    this.#own.add(evicted)
    addSiteShares(this.#own, 'isr', master.isr.shares)
    addSiteShares(this.#own, 'proxy', master.proxy.shares)
    addLogMetrics(this.#own, master.droppedLines)
    addRateLimitMetrics(this.#own, master.rateLimits)
    const { redis } = master
    if (redis !== undefined) addInstanceMetrics(this.#own, () => redis.figures)
    const deaths = { name: 'svc_process_deaths_total', help: 'Processes that ended without being told to.', labels: ['kind'] }
    this.#deaths = this.#own.add(new NumberFamily('counter', deaths))
    this.#deaths.series('worker')
    this.#deaths.series('host')
    const runs = { name: 'svc_task_runs_total', help: 'Runs of tasks that have ended, or were skipped.', labels: ['state'] }
    this.#runs = this.#own.add(new NumberFamily('counter', runs))
    for (const state of ['ok', 'failed', 'skipped']) this.#runs.series(state)
    const purges = { name: 'svc_purges_total', help: 'Purges carried out, by the layer that they name.', labels: ['layer'] }
    this.#purges = this.#own.add(new NumberFamily('counter', purges))
    for (const layer of LAYERS) this.#purges.series(layer)
  }

  countPurge(layers: readonly PurgeLayer[]): void {
    for (const layer of layers) this.#purges.series(layer).value++
  }

  countRun(state: string): void {
    this.#runs.series(state).value++
  }

  countDeath(kind: 'worker' | 'host'): void {
    this.#deaths.series(kind).value++
  }

  /** Notes the last totals of a process that has done its work and is about to end. Never rejects, and takes no longer than a scrape. */
  async processDrained(process: MetricsProcess): Promise<void> {
    await this.#pull(process)
  }

  /** Adds the last totals of a process that has ended. */
  processEnded(process: object): void {
    this.#ended.add(process)
    const last = this.#seen.get(process)
    this.#seen.delete(process)
    if (last !== undefined) this.#kept = this.#kept.then((kept) => keepTotals(kept, last))
  }

  /** All metrics of the instance in the text exposition format. */
  async text(processes: readonly MetricsProcess[]): Promise<string> {
    return mergeMetrics(await this.snapshots(processes))
  }

  /** The same as plain data, not summed up: those of each process, and the totals of those that have ended. */
  async snapshots(processes: readonly MetricsProcess[]): Promise<ReadonlyArray<readonly MetricJson[]>> {
    const answered = await Promise.all(processes.map((process) => this.#pull(process)))
    // A process that ends meanwhile is neither among the seen nor in totals that were read before: a counter would go backwards.
    let reading: Promise<readonly MetricJson[]>
    let kept: readonly MetricJson[]
    do {
      reading = this.#kept
      kept = await reading
    } while (reading !== this.#kept)
    this.#stale.value = answered.filter((isFresh) => !isFresh).length
    const all = [this.#own.toJson(), ...this.#seen.values(), kept]
    return this.#includesProcess() ? all : all.map((metrics) => metrics.filter(({ name }) => !name.startsWith('process_')))
  }

  /** Resolves with false if the process did not respond: its last values count. */
  async #pull(process: MetricsProcess): Promise<boolean> {
    try {
      const reply = await process.peer.call('metrics', undefined, { timeoutMs: this.#timeoutMs })
      const metrics = snapshot(reply.metrics, 'metrics')
      // A reply may come after the end, with which the process was counted.
      if (!this.#ended.has(process)) this.#seen.set(process, metrics)
      return true
    } catch {
      // Busy, just ended, or an invalid reply.
      return false
    }
  }
}
