import { type LeaseDesk, PassMemory, ProxyStore, type Purge, type PurgeLedger, type PurgeOrder } from '@svc/cache'
import type { Config } from '@svc/config'
import { asError, type Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'
import type { CacheSpec } from '@svc/vhosts'
import { Invalidations } from './invalidations.ts'
import { LocationCache } from './location-cache.ts'
import { ProxyCache } from './proxy-cache.ts'

/** The parts of the proxy cache of a worker process. */
interface WorkerProxyCacheOptions {
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  readonly metrics: CacheMetrics
  readonly clock: Clock
  /** Has the master carry out a purge. */
  readonly purge: (order: PurgeOrder) => Promise<unknown>
  readonly onProblem: (error: Error) => void
}

/** The proxy cache of a worker process and its access to the store: opened when a configuration first wants it. */
export class WorkerProxyCache {
  readonly #options: WorkerProxyCacheOptions
  #store: ProxyStore | undefined
  #cache: ProxyCache | undefined

  constructor(options: WorkerProxyCacheOptions) {
    this.#options = options
  }

  /** Opens the store for a configuration. If it cannot be opened, every request goes to the upstreams. */
  async prepare({ cache }: Config): Promise<void> {
    if (this.#store !== undefined || !isOn(cache)) return
    const { clock, leases, onProblem, purge: order } = this.#options
    try {
      const store = await ProxyStore.join({ cacheDir: cache.dir, maxBytes: cache.proxy.max_bytes, clock, onProblem })
      const invalidations = new Invalidations({ store, leases, order, onProblem })
      this.#store = store
      this.#cache = new ProxyCache({ ...this.#options, store, passes: new PassMemory(clock), invalidations })
    } catch (error) {
      onProblem(asError(error))
    }
  }

  /** The store, once a configuration has wanted it; undefined: it cannot be opened either. */
  get store(): ProxyStore | undefined {
    return this.#store
  }

  /** The cache of a location, as far as the configuration wants it. */
  locationCache({ cache }: Config, spec: CacheSpec): LocationCache | undefined {
    return isOn(cache) && this.#cache !== undefined ? new LocationCache(spec, this.#cache) : undefined
  }

  /** Applies a purge that the ledger knows. Resolves when earlier puts of this process are committed, so that they can be purged. */
  async purged(purge: Purge): Promise<void> {
    this.#cache?.purged(purge)
    await this.#store?.entries.flushed()
  }

  /** The store holds nothing any more that a purge takes: from now on this process must see it so. */
  refresh(): void {
    this.#store?.entries.refresh()
  }

  async close(): Promise<void> {
    await this.#store?.entries.close()
  }
}

function isOn({ proxy }: Config['cache']): boolean {
  return proxy.enabled && proxy.max_bytes > 0
}
