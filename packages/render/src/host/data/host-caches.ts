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

/** What the caches of a host are made of. */
export interface HostCachesOptions extends Omit<SharedStoreOptions, 'onFailed'> {
  /** Has the master carry out a purge; resolves when it is done. */
  readonly sendPurge: (order: PurgeOrder) => Promise<unknown>
  readonly counts: DataCounts
  readonly onProblem: (error: unknown, what: string) => void
}

type PurgeHandlers = Pick<Handlers<typeof hostMethods>, 'purge' | 'purgeSettled' | 'suspend'>

/** What a render host keeps for the code of its sites beyond a request: the data cache and what it knows of purges. */
export class HostCaches {
  readonly services: SiteServices
  readonly #ledger = new PurgeLedger()
  readonly #pathPurges: PathPurges
  readonly #store: SharedStore
  readonly #data: DataCache
  readonly #orders: PurgeOrders
  /** Settles when the store of the last generation is open, or cannot be opened. */
  #opening: Promise<void> = Promise.resolve()
  /** Whether purges do not get here: what the store has may be purged, and what is made may be too old for it. */
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

  /** What the master tells of purges. */
  get handlers(): PurgeHandlers {
    return {
      purge: async ({ purge }) => {
        this.#ledger.add(purge)
        // What earlier purges took is read from the store.
        await this.#opening
        await this.#pathPurges.add(purge)
        // What was on its way into the store before is there when the master looks for it.
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

  /** Whether purges that code of sites has ordered, maybe behind its answers, are still to be carried out. */
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
