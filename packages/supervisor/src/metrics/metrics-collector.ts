import type { PurgeLayer } from '@svc/cache'
import { guard } from '@svc/core'
import {
  addCacheEntries,
  addInstanceMetrics,
  addMeasured,
  addProcessMetrics,
  addSiteShares,
  addUptimeMetric,
  type InstanceFigures,
  keepTotals,
  type MetricJson,
  MetricSet,
  mergeMetrics,
  NumberFamily,
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
  /** Workers and render hosts that serve at the moment. */
  readonly up: () => { readonly worker: number; readonly host: number }
  /** The ISR store: its entries are counted here alone, since all processes share it; evictions are those of the master. */
  readonly isr: { readonly entries: () => number; readonly evictions: () => number; readonly shares: () => readonly SiteShare[] }
  readonly proxy: { readonly shares: () => readonly SiteShare[] }
  /** undefined: no `redis.url` is set. */
  readonly redis?: { readonly figures: InstanceFigures } | undefined
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
  readonly #seen = new Map<object, readonly MetricJson[]>()
  #kept: Promise<readonly MetricJson[]> = Promise.resolve([])

  constructor(timeoutMs: number, includeProcess: boolean, master: MasterMetrics) {
    this.#timeoutMs = timeoutMs
    if (includeProcess) {
      addProcessMetrics(this.#own)
      addUptimeMetric(this.#own)
    }
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
    const { redis } = master
    if (redis !== undefined) addInstanceMetrics(this.#own, () => redis.figures)
    const deaths = { name: 'svc_process_deaths_total', help: 'Processes that ended without being told to.', labels: ['kind'] }
    this.#deaths = this.#own.add(new NumberFamily('counter', deaths))
    this.#deaths.series('worker')
    this.#deaths.series('host')
    const purges = { name: 'svc_purges_total', help: 'Purges carried out, by the layer that they name.', labels: ['layer'] }
    this.#purges = this.#own.add(new NumberFamily('counter', purges))
    for (const layer of LAYERS) this.#purges.series(layer)
  }

  countPurge(layers: readonly PurgeLayer[]): void {
    for (const layer of layers) this.#purges.series(layer).value++
  }

  countDeath(kind: 'worker' | 'host'): void {
    this.#deaths.series(kind).value++
  }

  /** Adds the last totals of a process that has ended. */
  processEnded(process: object): void {
    const last = this.#seen.get(process)
    this.#seen.delete(process)
    if (last !== undefined) this.#kept = this.#kept.then((kept) => keepTotals(kept, last))
  }

  /** All metrics of the instance in the text exposition format. */
  async text(processes: readonly MetricsProcess[]): Promise<string> {
    const { snapshots, kept } = await this.#collect(processes)
    return mergeMetrics(snapshots, kept)
  }

  /** The same as plain data, not summed up: those of each process, and the totals of those that have ended. */
  async snapshots(processes: readonly MetricsProcess[]): Promise<ReadonlyArray<readonly MetricJson[]>> {
    const { snapshots, kept } = await this.#collect(processes)
    return [...snapshots, kept]
  }

  async #collect(processes: readonly MetricsProcess[]) {
    await Promise.all(processes.map((process) => this.#pull(process)))
    const kept = await this.#kept
    return { snapshots: [this.#own.toJson(), ...this.#seen.values()], kept }
  }

  async #pull(process: MetricsProcess): Promise<void> {
    try {
      const reply = await process.peer.call('metrics', undefined, { timeoutMs: this.#timeoutMs })
      this.#seen.set(process, snapshot(reply.metrics, 'metrics'))
    } catch {
      // Busy, just ended, or an invalid reply: its last values count.
    }
  }
}
