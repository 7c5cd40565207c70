import type { Clock } from '@svc/core'
import type { Databases } from './databases.ts'
import { idOf } from './index-keys.ts'
import { accessStamp } from './schedule.ts'
import { StoreTransaction } from './store-transaction.ts'

/** Keys remembered between merges; beyond this, the first ones requested are a good enough sample. */
const MAX_KEYS = 10_000
/** Entries of one transaction: others wait for its end. */
const ENTRIES_PER_STEP = 128

/** When this process last read which entries. Reads must not write: the times are merged into the store now and then. */
export class AccessTimes {
  readonly #databases: Databases
  readonly #clock: Clock
  readonly #intervalMs: number
  #times = new Map<string, number>()
  #cancel: (() => void) | undefined

  /** @param intervalMs between two merges */
  constructor(databases: Databases, clock: Clock, intervalMs: number) {
    this.#databases = databases
    this.#clock = clock
    this.#intervalMs = intervalMs
  }

  touch(key: string): void {
    if (this.#times.size >= MAX_KEYS && !this.#times.has(key)) return
    this.#times.set(key, this.#clock.now())
    this.#cancel ??= this.#clock.after(this.#intervalMs, () => this.#mergeStep())
  }

  /** Writes all recorded times. Times that cannot be written are dropped: eviction is then a little less fair. */
  merge(): void {
    while (this.#times.size > 0) this.#mergeSome()
    this.stop()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #mergeStep(): void {
    this.#mergeSome()
    // The rest in later turns: requests go first.
    this.#cancel = this.#times.size === 0 ? undefined : this.#clock.after(0, () => this.#mergeStep())
  }

  #mergeSome(): void {
    const some: [string, number][] = []
    for (const [key, at] of this.#times) {
      this.#times.delete(key)
      if (some.push([key, at]) === ENTRIES_PER_STEP) break
    }
    try {
      StoreTransaction.run(this.#databases, (transaction) => {
        for (const [key, at] of some) transaction.touch(idOf(key), accessStamp(at))
      })
    } catch {
      // No room or a damaged store: see above.
    }
  }
}
