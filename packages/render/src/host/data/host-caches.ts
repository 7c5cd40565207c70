import { PurgeLedger, type PurgeOrder, type PurgeState } from '@svc/cache'
import type { Config } from '@svc/config'
import { type Handlers, systemClock } from '@svc/core'
import type { hostMethods } from '@svc/protocol'
import type { DataCounts } from '@svc/telemetry'
import { DataCache } from './data-cache.ts'
import { PathPurges } from './path-purges.ts'
import { PurgeOrders } from './purge-orders.ts'
import { SharedStore, type SharedStoreOptions } from './shared-store.ts'
import { SiteServices } from './site-services.ts'

/** Options of the caches of a host. */
export interface HostCachesOptions extends Omit<SharedStoreOptions, 'onFailed'> {
  /** Has the master carry out a purge; resolves when it is done. */
  readonly sendPurge: (order: PurgeOrder) => Promise<unknown>
  readonly counts: DataCounts
  readonly onProblem: (error: unknown, what: string) => void
}

type PurgeHandlers = Pick<Handlers<typeof hostMethods>, 'purge' | 'purgeSettled' | 'suspend'>

/** The caches of a render host that outlive a request: the data cache and the ledger of purges. */
export class HostCaches {
  readonly services: SiteServices
  readonly #ledger = new PurgeLedger()
  readonly #pathPurges: PathPurges
  readonly #store: SharedStore
  readonly #data: DataCache
  readonly #orders: PurgeOrders
  /** Settles when the store of the last generation is open, or cannot be opened. */
  #opening: Promise<void> = Promise.resolve()
  /** True if purges do not reach this host: stored entries may have been purged, and new ones may be too old to store. */
  #isSuspended = false

  constructor({ sendPurge, counts, onProblem, ...storeOptions }: HostCachesOptions) {
    this.#store = new SharedStore({
      ...storeOptions,
      onFailed: (error) => onProblem(error, 'the data cache cannot be opened'),
    })
    this.#pathPurges = new PathPurges(
      () => this.#usable,
      () => Date.now(),
    )
    this.#data = new DataCache({
      store: () => this.#usable,
      ledger: this.#ledger,
      pathPurges: this.#pathPurges,
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
    this.#opening = this.#store.use(cache)
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
        await this.#store.current?.flushed()
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
    return this.#isSuspended ? undefined : this.#store.current
  }

  async close(): Promise<void> {
    await this.#store.close()
  }
}
