import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Bounds, excessOf, readCounts } from './counts.ts'
import type { Databases } from './databases.ts'
import { clearExpired, evictExcess, evictForRoom, sweepRow } from './eviction.ts'
import type { Space } from './space.ts'
import { StoreTransaction } from './store-transaction.ts'

/** Entries of one transaction: others wait for its end. */
const ENTRIES_PER_STEP = 64
/** Eviction steps that a writer runs before it drops its entry. */
const STEPS_FOR_ROOM = 16

interface MaintenanceOptions {
  readonly databases: Databases
  readonly space: Space
  readonly bounds: Bounds
  readonly now: () => number
}

/** Keeps the store within its bounds, in steps that hold the lock of writers for a moment each. */
export class Maintenance {
  readonly #options: MaintenanceOptions
  /** Work that has waiters, so `run` waits for it too. */
  #urgent: Promise<unknown> = Promise.resolve()

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /** True if the store exceeds its limits, or buried entries wait for deletion. */
  get isNeeded(): boolean {
    const { databases, bounds, space } = this.#options
    if (excessOf(readCounts(databases), bounds) !== undefined || space.roomFor(0) === 'evict') return true
    for (const _ of databases.garbage.getKeys({ limit: 1 })) return true
    return false
  }

  /** Does something that must not wait: `run` takes no step until it has ended. */
  async first<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = work()
    this.#urgent = Promise.allSettled([this.#urgent, working])
    return working
  }

  /** Deletes buried and expired entries and evicts those over the limits. Resolves with the number of evicted entries. */
  async run(shouldStop: () => boolean): Promise<number> {
    let evicted = 0
    while (!shouldStop()) {
      const step = this.#step()
      if (step === undefined) break
      evicted += step
      await nextTurn()
      await this.#urgent
    }
    return evicted
  }

  /** Entries evicted in this step; undefined when there was nothing to do. */
  #step(): number | undefined {
    const { databases, bounds, space, now } = this.#options
    return StoreTransaction.run(databases, (transaction) => {
      if (sweepRow(databases, transaction)) return 0
      if (clearExpired(databases, transaction, now(), ENTRIES_PER_STEP) > 0) return 0
      if (excessOf(transaction.counts, bounds) !== undefined) {
        return evictExcess(databases, transaction, bounds, ENTRIES_PER_STEP) || undefined
      }
      return space.roomFor(0) === 'evict' ? evictForRoom(databases, transaction, ENTRIES_PER_STEP) || undefined : undefined
    })
  }

  /** Makes room in the file for a writer. Returns true if there is enough now. */
  makeRoom(bytes: number): boolean {
    const { databases, space } = this.#options
    for (let step = 0; step < STEPS_FOR_ROOM; step++) {
      const room = space.roomFor(bytes)
      if (room !== 'evict') return room === 'enough'
      StoreTransaction.run(databases, (transaction) => {
        return sweepRow(databases, transaction) ? 0 : evictForRoom(databases, transaction, ENTRIES_PER_STEP)
      })
    }
    return space.roomFor(bytes) === 'enough'
  }

  /** Buries entries that exceed the limits because of a writer, inside its own transaction. Returns how many. */
  evictWithin(transaction: StoreTransaction, limit: number): number {
    const { databases, bounds } = this.#options
    return evictExcess(databases, transaction, bounds, limit)
  }
}
