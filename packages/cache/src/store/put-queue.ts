import type { Clock } from '@svc/core'
import { CacheError } from '../errors/errors.ts'
import type { Databases } from './databases.ts'
import type { NewEntry } from './entry-codec.ts'
import type { Maintenance } from './maintenance.ts'
import { StoreTransaction } from './store-transaction.ts'

/** Entries of one transaction: others wait for its end. */
const ENTRIES_PER_STEP = 64
/** A step may have to bury this many entries for each that it writes, when those were small. */
const EVICTED_PER_ENTRY = 4

/** A body in a file may take the place of so many small entries, of so many bytes each; the master evicts the rest. */
const EVICTED_PER_FILE = 512
const SMALL_BYTES = 2 << 10

function evictedForFiles(step: readonly NewEntry[]): number {
  const bytes = step.reduce((sum, { facts }) => sum + (facts.bodyFile?.bytes ?? 0), 0)
  return Math.min(EVICTED_PER_FILE, Math.ceil(bytes / SMALL_BYTES))
}

interface Waiting extends NewEntry {
  readonly settle: (isStored: boolean) => void
}

interface PutQueueOptions {
  readonly databases: Databases
  readonly maintenance: Maintenance
  /** Bytes of bodies that one transaction may write, unless it is one entry. */
  readonly stepBytes: number
  readonly graceMs: number
  readonly clock: Clock
  /** Called when a commit failed. */
  readonly onFailure: (error: unknown) => void
}

/** Collects the puts of a turn and commits them together, a bounded piece per turn. */
export class PutQueue {
  readonly #options: PutQueueOptions
  #waiting: Waiting[] = []
  #last: Promise<boolean> = Promise.resolve(true)
  #isScheduled = false

  constructor(options: PutQueueOptions) {
    this.#options = options
  }

  /** Resolves with true if the entry was committed. The body must not change until then. */
  add(entry: NewEntry): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#waiting.push({ ...entry, settle: resolve })
    this.#last = promise
    this.#schedule()
    return promise
  }

  /** Resolves when every entry added before is committed or dropped: entries are settled in their order. */
  async flushed(): Promise<void> {
    await this.#last
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const step = this.#takeStep()
      const isStored = this.#commit(step)
      for (const { settle } of step) settle(isStored)
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  #takeStep(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { body } of this.#waiting) {
      bytes += body.byteLength
      if (count === ENTRIES_PER_STEP || (count > 0 && bytes > this.#options.stepBytes)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  #commit(step: readonly Waiting[]): boolean {
    const { databases, maintenance, graceMs, clock } = this.#options
    const bytes = step.reduce((sum, { body }) => sum + body.byteLength, 0)
    try {
      if (!maintenance.makeRoom(bytes)) throw new CacheError('CACHE_NO_ROOM', 'the store is full')
      const now = clock.now()
      StoreTransaction.run(databases, (transaction) => {
        for (const entry of step) transaction.write(entry, { graceMs, now })
        maintenance.evictWithin(transaction, step.length * EVICTED_PER_ENTRY + evictedForFiles(step))
      })
      return true
    } catch (error) {
      // No room on the disk or a damaged store: nothing of the step is committed, and no request fails for it.
      this.#options.onFailure(error)
      return false
    }
  }
}
