import type { Clock } from '@svc/core'
import type { Databases } from './databases.ts'
import { idOf } from './index-keys.ts'
import { accessStamp } from './schedule.ts'
import { StoreTransaction } from './store-transaction.ts'

/** Keys remembered between merges; beyond this, the first ones requested are a good enough sample. */
const MAX_KEYS = 10_000
/** Entries of one transaction: others wait for its end. */
const ENTRIES_PER_STEP = 128

/** Reads of an entry since the last merge. */
interface Reads {
  /** Time of the last one. */
  at: number
  count: number
}

/** When this process last read which entries, and how often. Reads must not write: this is merged into the store now and then. */
export class AccessTimes {
  readonly #databases: Databases
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #reads = new Map<string, Reads>()
  #cancel: (() => void) | undefined

  /** @param intervalMs between two merges */
  constructor(databases: Databases, clock: Clock, intervalMs: number) {
    this.#databases = databases
    this.#clock = clock
    this.#intervalMs = intervalMs
  }

  /** @param reads 0 where a copy of the entry was used */
  touch(key: string, reads: 0 | 1): void {
    const known = this.#reads.get(key)
    const at = this.#clock.now()
    if (known !== undefined) {
      known.at = at
      known.count += reads
      return
    }
    if (this.#reads.size >= MAX_KEYS) return
    this.#reads.set(key, { at, count: reads })
    this.#cancel ??= this.#clock.after(this.#intervalMs, () => this.#mergeStep())
  }

  /** Writes all recorded reads. Those that cannot be written are dropped: eviction is then a little less fair. */
  merge(): void {
    while (this.#reads.size > 0) this.#mergeSome()
    this.stop()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #mergeStep(): void {
    this.#mergeSome()
    // The rest in later turns: requests go first.
    this.#cancel = this.#reads.size === 0 ? undefined : this.#clock.after(0, () => this.#mergeStep())
  }

  #mergeSome(): void {
    const some: [string, Reads][] = []
    for (const [key, reads] of this.#reads) {
      this.#reads.delete(key)
      if (some.push([key, reads]) === ENTRIES_PER_STEP) break
    }
    try {
      StoreTransaction.run(this.#databases, (transaction) => {
        for (const [key, { at, count }] of some) transaction.touch(idOf(key), accessStamp(at), count)
      })
    } catch {
      // No room or a damaged store: see above.
    }
  }
}
