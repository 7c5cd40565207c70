import type { EntryStore } from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { ShareNotices, type StoreBounds } from './share-notices.ts'

/** Interval of checks whether the store exceeds its bounds. */
const LOOK_MS = 1_000
/** Every so many checks, expired entries are removed too. */
const LOOKS_PER_SWEEP = 30

/** The methods of a store's room that upkeep needs. */
type UpkeepRoom = Pick<EntryStore['room'], 'needsEviction' | 'evict' | 'checkReaders' | 'usages'>

interface StoreUpkeepOptions {
  readonly room: UpkeepRoom
  /** Its name in the log. */
  readonly name: string
  readonly bounds: StoreBounds
  readonly clock: Clock
  readonly logger: Logger
}

/** Keeps the shared store within its bounds: one check at a time. */
export class StoreUpkeep {
  readonly #options: StoreUpkeepOptions
  readonly #notices: ShareNotices
  #looks = 0
  #isClosed = false
  #cancel: () => void = () => undefined

  constructor(options: StoreUpkeepOptions) {
    const { room, name, bounds, clock, logger } = options
    this.#options = options
    this.#notices = new ShareNotices({ store: name, usages: () => room.usages(), bounds, clock, logger })
  }

  start(): void {
    if (!this.#isClosed) this.#cancel = this.#options.clock.after(LOOK_MS, () => this.#look())
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  /** Called when a process that had the store open has ended: its read transactions must not pin old pages. */
  processEnded(): void {
    if (this.#isClosed) return
    const freed = this.#options.room.checkReaders()
    if (freed > 0) this.#options.logger.debug({ freed }, 'freed the reader slots of ended processes in a store')
  }

  #look(): void {
    const isSweep = ++this.#looks % LOOKS_PER_SWEEP === 0
    if (isSweep) this.#notices.look()
    if (!isSweep && !this.#options.room.needsEviction) {
      this.start()
      return
    }
    this.#options.room.evict().then(
      () => this.start(),
      (error) => {
        this.#options.logger.error({ err: asError(error) }, 'failed to keep a store within its bounds')
        this.start()
      },
    )
  }
}
