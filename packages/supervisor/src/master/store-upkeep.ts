import type { EntryStore } from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { ShareNotices, type StoreBounds } from './share-notices.ts'

/** How often the store is looked at for more than it may hold. */
const LOOK_MS = 1_000
/** Every so many looks what has expired is cleared away too. */
const LOOKS_PER_SWEEP = 30

/** What upkeep asks of a store. */
type KeptStore = Pick<EntryStore, 'needsEviction' | 'evict' | 'checkReaders' | 'usages'>

interface StoreUpkeepOptions {
  readonly store: KeptStore
  /** Its name in the log. */
  readonly name: string
  readonly bounds: StoreBounds
  readonly clock: Clock
  readonly logger: Logger
}

/** Keeps the shared store within its bounds: one look after another, never two at once. */
export class StoreUpkeep {
  readonly #store: KeptStore
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #notices: ShareNotices
  #looks = 0
  #isClosed = false
  #cancel: () => void = () => undefined

  constructor({ store, name, bounds, clock, logger }: StoreUpkeepOptions) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#notices = new ShareNotices({ store: name, usages: () => store.usages(), bounds, clock, logger })
  }

  start(): void {
    if (!this.#isClosed) this.#cancel = this.#clock.after(LOOK_MS, () => this.#look())
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  /** A process that had the store open has ended: what it was reading must not be kept for it. */
  processEnded(): void {
    if (this.#isClosed) return
    const freed = this.#store.checkReaders()
    if (freed > 0) this.#logger.debug({ freed }, 'readers of a store that ended were cleared away')
  }

  #look(): void {
    const isSweep = ++this.#looks % LOOKS_PER_SWEEP === 0
    if (isSweep) this.#notices.look()
    if (!isSweep && !this.#store.needsEviction) {
      this.start()
      return
    }
    this.#store.evict().then(
      () => this.start(),
      (error) => {
        this.#logger.error({ err: asError(error) }, 'a store could not be kept within its bounds')
        this.start()
      },
    )
  }
}
