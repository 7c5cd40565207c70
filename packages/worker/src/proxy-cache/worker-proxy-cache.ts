import { type LeaseDesk, PassMemory, ProxyStore, type Purge, type PurgeLedger, type PurgeOrder } from '@svc/cache'
import type { Config } from '@svc/config'
import { asError, type Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'
import type { CacheSpec } from '@svc/vhosts'
import type { ShareLeases } from '../shared-cache/share-leases.ts'
import { Invalidations } from './invalidations.ts'
import { LocationCache } from './location-cache.ts'
import { ProxyCache } from './proxy-cache.ts'
import { LEASE_KIND } from './proxy-fill.ts'

/** The parts of the proxy cache of a worker process. */
interface WorkerProxyCacheOptions {
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  /** undefined: there are no other instances. */
  readonly shareLeases?: ShareLeases | undefined
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
  async prepare(config: Config): Promise<void> {
    const { cache } = config
    if (this.#store !== undefined || !isOn(cache)) return
    const { clock, shareLeases, onProblem, purge: order } = this.#options
    try {
      const store = await ProxyStore.join({ cacheDir: cache.dir, maxBytes: cache.proxy.max_bytes, clock, onProblem })
      const sharing = shareLeases?.(config, 'proxy', store.entries, LEASE_KIND)
      const leases = sharing ?? this.#options.leases
      const invalidations = new Invalidations({ store, leases, isShared: sharing !== undefined, order, onProblem })
      this.#store = store
      this.#cache = new ProxyCache({ ...this.#options, store, leases, sharing, passes: new PassMemory(clock), invalidations })
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
