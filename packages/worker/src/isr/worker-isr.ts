import { EntryStore, type LeaseDesk, type Purge, type PurgeLedger } from '@svc/cache'
import type { Config } from '@svc/config'
import { asError, type Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'
import type { Renderer } from '../render-client/renderer.ts'
import type { ShareLeases } from '../shared-cache/share-leases.ts'
import { IsrCache } from './isr-cache.ts'

/** The parts of the ISR cache of a worker process. */
interface WorkerIsrOptions {
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  /** undefined: there are no other instances. */
  readonly shareLeases?: ShareLeases | undefined
  readonly renderer: Renderer
  readonly metrics: CacheMetrics
  readonly clock: Clock
  readonly onProblem: (error: Error) => void
}

/** The ISR cache of a worker process and its access to the store: opened when a configuration first wants it. */
export class WorkerIsr {
  readonly #options: WorkerIsrOptions
  #store: EntryStore | undefined
  #cache: IsrCache | undefined

  constructor(options: WorkerIsrOptions) {
    this.#options = options
  }

  /** Opens the store for a configuration. Where it cannot be opened, everything is rendered. */
  async prepare(config: Config): Promise<void> {
    const { cache } = config
    if (this.#store !== undefined || !isOn(cache)) return
    try {
      const store = await EntryStore.join({
        cacheDir: cache.dir,
        maxEntries: cache.isr.max_entries,
        maxBytes: cache.isr.max_bytes,
        graceMs: cache.isr.default_swr_ms,
        clock: this.#options.clock,
      })
      this.#store = store
      const sharing = this.#options.shareLeases?.(config, 'isr', store, '')
      this.#cache = new IsrCache({ ...this.#options, store, sharing, leases: sharing ?? this.#options.leases })
    } catch (error) {
      this.#options.onProblem(asError(error))
    }
  }

  /** The cache, as far as a configuration wants it. */
  cacheFor({ cache }: Config): IsrCache | undefined {
    return isOn(cache) ? this.#cache : undefined
  }

  /** The store, once a configuration has wanted it; undefined: it cannot be opened either. */
  get store(): EntryStore | undefined {
    return this.#store
  }

  /** Applies a purge that the ledger knows. Resolves when earlier puts of this process are committed, so that they can be purged. */
  async purged(purge: Purge): Promise<void> {
    this.#cache?.purged(purge)
    await this.#store?.flushed()
  }

  /** The store holds nothing any more that a purge takes: from now on this process must see it so. */
  refresh(): void {
    this.#store?.refresh()
  }

  /** Code of a label has changed. */
  siteChanged(label: string): void {
    this.#cache?.siteChanged(label)
  }

  async close(): Promise<void> {
    await this.#store?.close()
  }
}

function isOn({ isr }: Config['cache']): boolean {
  return isr.max_entries > 0 && isr.max_bytes > 0
}
