import {
  type CacheStore,
  EntryStore,
  PurgeLedger,
  type PurgeOrder,
  type PurgeState,
  type Relay,
  RelayedCommands,
  SharedCache,
} from '@svc/cache'
import type { Config } from '@svc/config'
import { type Handlers, systemClock } from '@svc/core'
import type { hostMethods } from '@svc/protocol'
import type { DataCounts } from '@svc/telemetry'
import { DataCache, type DataStore } from './data-cache.ts'
import { PathPurges } from './path-purges.ts'
import { PurgeOrders } from './purge-orders.ts'
import { SiteServices } from './site-services.ts'

/** The store of the instance as this host has it open. */
export type OpenStore = DataStore &
  Pick<CacheStore, 'noteReads'> & {
    /** Resolves when all that was put so far is committed. */
    flushed(): Promise<void>
    close(): Promise<void>
  }

/** Options of the caches of a host. */
export interface HostCachesOptions {
  /** @default the store of the instance on disk */
  readonly open?: (cache: Config['cache']) => Promise<OpenStore>
  /** Has the master carry out a purge; resolves when it is done. */
  readonly sendPurge: (order: PurgeOrder) => Promise<unknown>
  /** Has the master run a script on the cache that instances share. */
  readonly relay: Relay
  readonly counts: DataCounts
  readonly onProblem: (error: unknown, what: string) => void
}

type PurgeHandlers = Pick<Handlers<typeof hostMethods>, 'purge' | 'purgeSettled' | 'suspend'>

/** The caches of a render host that outlive a request: the data cache and the ledger of purges. */
export class HostCaches {
  readonly services: SiteServices
  readonly #ledger = new PurgeLedger()
  readonly #pathPurges: PathPurges
  readonly #options: HostCachesOptions
  /** Undefined before it was opened, and when it cannot be: sites go on without a data cache. */
  #store: OpenStore | undefined
  /** Those that the store was opened with. */
  #storeSettings = ''
  /** Undefined: instances share none. */
  #shared: SharedCache | undefined
  readonly #commands: RelayedCommands
  readonly #data: DataCache
  readonly #orders: PurgeOrders
  /** Settles when the store of the last generation is open, or cannot be opened. */
  #opening: Promise<void> = Promise.resolve()
  /** True if purges do not reach this host: stored entries may have been purged, and new ones may be too old to store. */
  #isSuspended = false

  constructor(options: HostCachesOptions) {
    const { sendPurge, relay, counts, onProblem } = options
    this.#options = options
    this.#pathPurges = new PathPurges(
      () => this.#usable,
      () => Date.now(),
    )
    this.#commands = new RelayedCommands(relay, () => systemClock.monotonic())
    this.#data = new DataCache({
      store: () => this.#usable,
      ledger: this.#ledger,
      pathPurges: this.#pathPurges,
      shared: () => (this.#usable === undefined ? undefined : this.#shared),
      counts,
      clock: systemClock,
    })
    this.#orders = new PurgeOrders(sendPurge)
    this.services = new SiteServices({
      data: this.#data,
      orders: this.#orders,
      onProblem: (error) => onProblem(error, 'a render thread asks for something unknown'),
    })
  }

  /** Takes over the purges that the master knows of, and opens the store of a generation. */
  async prepare(cache: Config['cache'], purges: PurgeState | undefined): Promise<void> {
    // Before anything is awaited: whatever comes after this message is newer than the state in it.
    if (purges !== undefined) {
      this.#ledger.reset(purges)
      this.#isSuspended = false
    }
    // Its master may be about to begin a new one.
    if (this.#isSuspended) return
    this.#opening = this.#open(cache)
    await this.#opening
    if (purges === undefined) return
    await Promise.all(purges.unsettled.map((purge) => this.#pathPurges.add(purge)))
  }

  /** Handles the purges that the master sends. */
  get handlers(): PurgeHandlers {
    return {
      purge: async ({ purge }) => {
        this.#ledger.add(purge)
        // The entries that earlier purges removed are read from the store.
        await this.#opening
        await this.#pathPurges.add(purge)
        // Writes that were in flight before are in the store when the master looks for them.
        await this.#store?.flushed()
        return undefined
      },
      purgeSettled: ({ number }) => this.#ledger.settled(number) as undefined,
      suspend: () => {
        this.#isSuspended = true
        return undefined
      },
    }
  }

  /** How many entries are being made. */
  get fills(): number {
    return this.#data.fills
  }

  /** True if purges that site code ordered, maybe after its response, are still to be carried out. */
  get hasOrders(): boolean {
    return this.#orders.isBusy
  }

  get #usable() {
    return this.#isSuspended ? undefined : this.#store
  }

  async close(): Promise<void> {
    const store = this.#store
    this.#store = undefined
    this.#storeSettings = ''
    await store?.close()
  }

  /** Opens the store that a generation names, unless it is open. Never rejects. */
  async #open(cache: Config['cache']): Promise<void> {
    const { max_entries, max_bytes } = cache.isr
    const settings = JSON.stringify([cache.dir, max_entries, max_bytes])
    if (settings === this.#storeSettings) return
    this.#storeSettings = settings
    const { open = openOnDisk, onProblem } = this.#options
    const old = this.#store
    try {
      const store = await open(cache)
      this.#store = store
      this.#shared = this.#share(cache, store)
      await old?.close()
    } catch (error) {
      onProblem(error, 'the data cache cannot be opened')
    }
  }

  #share({ isr }: Config['cache'], store: OpenStore): SharedCache | undefined {
    if (!isr.l2_enabled) return undefined
    return new SharedCache({
      commands: this.#commands,
      // The master adds that of Redis.
      prefix: '',
      layer: 'isr',
      ttlMs: isr.l2_ttl_ms,
      store,
      ledger: this.#ledger,
      clock: systemClock,
      counts: this.#options.counts.l2,
    })
  }
}

async function openOnDisk({ dir, isr }: Config['cache']): Promise<OpenStore> {
  const { max_entries: maxEntries, max_bytes: maxBytes, default_swr_ms: graceMs } = isr
  return await EntryStore.join({ cacheDir: dir, maxEntries, maxBytes, graceMs })
}
