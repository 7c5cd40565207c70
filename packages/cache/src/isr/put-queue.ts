import type { Clock } from '@svc/core'
import type { Databases } from './databases.ts'
import { type NewEntry, StoreTransaction } from './store-transaction.ts'

/** Bounds of one transaction: others wait for its end. */
const ENTRIES_PER_STEP = 64
const BYTES_PER_STEP = 2 << 20

interface Waiting extends NewEntry {
  readonly settle: (isStored: boolean) => void
}

/** Collects what a turn puts and commits it together, a bounded piece per turn. */
export class PutQueue {
  readonly #databases: Databases
  readonly #options: { readonly graceMs: number; readonly clock: Clock }
  #waiting: Waiting[] = []
  #last: Promise<boolean> = Promise.resolve(true)
  #isScheduled = false

  constructor(databases: Databases, options: { readonly graceMs: number; readonly clock: Clock }) {
    this.#databases = databases
    this.#options = options
  }

  /** Resolves with whether the entry was committed. The body must not change until then. */
  add(entry: NewEntry): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#waiting.push({ ...entry, settle: resolve })
    this.#last = promise
    this.#schedule()
    return promise
  }

  /** Resolves when all that was added before is committed or given up: entries are settled in their order. */
  async flushed(): Promise<void> {
    await this.#last
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#commit(this.#takeStep())
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  #takeStep(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { body } of this.#waiting) {
      bytes += body.byteLength
      if (count === ENTRIES_PER_STEP || (count > 0 && bytes > BYTES_PER_STEP)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  #commit(step: readonly Waiting[]): void {
    const isStored = this.#write(step)
    for (const { settle } of step) settle(isStored)
  }

  #write(step: readonly Waiting[]): boolean {
    const now = this.#options.clock.now()
    try {
      StoreTransaction.run(this.#databases, (transaction) => {
        for (const entry of step) transaction.write(entry, { graceMs: this.#options.graceMs, now })
      })
      return true
    } catch {
      // No room or a damaged store: nothing of the step is committed, and no request fails for it.
      return false
    }
  }
}
