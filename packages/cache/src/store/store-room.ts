import type { StoreSize } from '../entries/cache-store.ts'
import { readCounts } from './counts.ts'
import type { StoreAccess } from './store-access.ts'
import { StoreTransaction } from './store-transaction.ts'
import { readUsages, type Usage } from './usage.ts'

/** The room of a store: its use by all processes, its division among labels, and the eviction that bounds it. */
export class StoreRoom {
  readonly #access: StoreAccess
  #evicting: Promise<number> | undefined

  constructor(access: StoreAccess) {
    this.#access = access
  }

  size(): StoreSize {
    const counts = this.#access.read(({ databases }) => readCounts(databases))
    return { entries: counts?.entries ?? 0, bytes: counts?.bytes ?? 0 }
  }

  /** Number of entries evicted by all processes since the store was created. */
  get evictions(): number {
    return this.#access.read(({ databases }) => readCounts(databases).evictions) ?? 0
  }

  /** Usage of the store by label, for all labels that have had entries since the store was created. */
  usages(): readonly Readonly<Usage>[] {
    return this.#access.read(({ databases }) => readUsages(databases)) ?? []
  }

  /** Sets the weights of labels, for all processes: of one process, the master. Entries of labels that are not named go first. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.#access.write(({ databases }) => StoreTransaction.run(databases, (one) => one.setWeights(weights)))
  }

  /** True if `evict` has something to do, but for entries whose deadline has passed. */
  get needsEviction(): boolean {
    return this.#access.read(({ maintenance }) => maintenance.isNeeded) ?? false
  }

  /**
   * Deletes purged and expired entries, and evicts those over the limits. The master does this now and then, and no other process.
   * Resolves with the number of evicted entries; never rejects.
   */
  evict(): Promise<number> {
    this.#evicting ??= this.#evict().finally(() => {
      this.#evicting = undefined
    })
    return this.#evicting
  }

  /** Resolves when no eviction is running. */
  async evicted(): Promise<void> {
    await this.#evicting
  }

  /** Frees the reader slots of processes that have ended. Returns their number. */
  checkReaders(): number {
    return this.#access.read(({ databases }) => databases.root.readerCheck() as unknown as number) ?? 0
  }

  async #evict(): Promise<number> {
    const access = this.#access
    try {
      return (await access.parts?.maintenance.run(() => access.parts === undefined)) ?? 0
    } catch (error) {
      access.fail(error)
      return 0
    }
  }
}
