import { type Clock, messageOf, systemClock } from '@svc/core'
import { AccessTimes } from './access-times.ts'
import { closeDatabases, type Databases } from './databases.ts'
import { Maintenance } from './maintenance.ts'
import { PutQueue } from './put-queue.ts'
import { Space, stepBytesFor } from './space.ts'
import { noteDamage, type StoreIdentity, sealLeft, troubleOf } from './store-seal.ts'

/** How long closing may take to bring the store to the disk: if it takes longer, a crash of the machine costs the store. */
const SYNC_MS = 2_000
/** Error texts of lmdb for a damaged file. */
const DAMAGE = /MDB_(CORRUPTED|PAGE_NOTFOUND|PANIC|INVALID|VERSION_MISMATCH)/

/** How often the times of accesses are merged into the store. */
const ACCESS_MERGE_MS = 10_000
/** How soon a newcomer that was requested again counts as one: others push newcomers out quickly. */
const PROMOTION_MERGE_MS = 100

/** Counts of this process's use of the store since it opened it. */
export interface StoreStats {
  /** Writes that were lost: a full disk, a full store, damage. */
  lostWrites: number
  /** Reads that failed and were misses therefore. */
  failedReads: number
}

interface StoreParts {
  readonly databases: Databases
  readonly access: AccessTimes
  /** Newcomers that were requested again. */
  readonly promotions: AccessTimes
  readonly maintenance: Maintenance
  readonly queue: PutQueue
}

interface AccessOptions {
  /** Path of the store. */
  readonly dir: string
  /** Undefined: the store is off. */
  readonly databases: Databases | undefined
  readonly maxEntries: number
  readonly maxBytes: number
  readonly graceMs: number
  readonly clock: Clock
}

/** Runs reads and writes of one process in the open databases: each read in a snapshot, and no failure reaches the caller. */
export class StoreAccess {
  readonly stats: StoreStats = { lostWrites: 0, failedReads: 0 }
  readonly #dir: string
  #parts: StoreParts | undefined
  /** How long the current snapshot lasts; undefined: there is none. */
  #heldFor: 'callback' | 'turn' | undefined
  #damage: string | undefined

  constructor({ dir, databases, ...options }: AccessOptions) {
    this.#dir = dir
    if (databases !== undefined) this.#parts = partsOf(databases, options, (error) => this.fail(error))
  }

  /** Undefined: the store is off, or closed. */
  get parts(): StoreParts | undefined {
    return this.#parts
  }

  /** Runs a read in the current snapshot. A read that fails is a miss. */
  read<Result>(read: (parts: StoreParts) => Result, isOfTurn = false): Result | undefined {
    if (this.#parts === undefined) return undefined
    this.#beginSnapshot(isOfTurn)
    try {
      return read(this.#parts)
    } catch (error) {
      this.stats.failedReads++
      this.#noteDamage(error)
      return undefined
    }
  }

  /** Runs a write. One that fails is lost. */
  write(write: (parts: StoreParts) => void): void {
    try {
      if (this.#parts !== undefined) write(this.#parts)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Counts a write that failed. */
  fail(error: unknown): void {
    this.stats.lostWrites++
    this.#noteDamage(error)
  }

  /** Reads after this call see all that any process has committed before it. */
  refresh(): void {
    this.#parts?.databases.root.resetReadTxn()
  }

  /** Why the files cannot be relied on at the moment; undefined: they can. */
  async trouble(identity: StoreIdentity | undefined): Promise<string | undefined> {
    return (await troubleOf(this.#dir, identity)) ?? this.#damage
  }

  /** Commits the puts in flight and closes the databases, once the work that has begun is settled. */
  async close(isOwner: boolean, begun: () => Promise<unknown>): Promise<void> {
    const parts = this.#parts
    if (parts === undefined) return
    await parts.queue.flushed()
    parts.promotions.merge()
    parts.access.merge()
    this.#parts = undefined
    await begun()
    await closeDatabases(parts.databases)
    if (!isOwner || this.#damage !== undefined) return
    // The store is in order, even if the seal cannot be written: it is then checked once more.
    const sealed = sealLeft(this.#dir).catch(() => undefined)
    const { promise: tooLate, resolve } = Promise.withResolvers<void>()
    const cancel = systemClock.after(SYNC_MS, resolve)
    await Promise.race([sealed, tooLate])
    cancel()
  }

  /**
   * The first read of a callback begins a snapshot: it sees all that was committed until then. The end of the callback gives it back,
   * since as long as it is held no page that others free can be used again, and the file grows. Reads of a turn share one until the
   * end of the turn: beginning one costs as much as the rest of a read.
   */
  #beginSnapshot(isOfTurn: boolean): void {
    if (this.#heldFor === 'callback' || (this.#heldFor === 'turn' && isOfTurn)) return
    this.refresh()
    this.#heldFor = isOfTurn ? 'turn' : 'callback'
    const end = () => {
      this.#heldFor = undefined
      this.refresh()
    }
    if (isOfTurn) setImmediate(end)
    else queueMicrotask(end)
  }

  /** A damaged file is not repaired in use: the next master moves it aside. */
  #noteDamage(error: unknown): void {
    if (this.#damage !== undefined || !DAMAGE.test(messageOf(error))) return
    this.#damage = messageOf(error)
    // If even this write fails, the next master finds the damage by its own check.
    noteDamage(this.#dir, messageOf(error)).catch(() => undefined)
  }
}

/** Assembles the parts that work on open databases. */
function partsOf(
  databases: Databases,
  { maxEntries, maxBytes, graceMs, clock }: Omit<AccessOptions, 'dir' | 'databases'>,
  onFailure: (error: unknown) => void,
): StoreParts {
  const maintenance = new Maintenance({
    databases,
    space: new Space(databases, maxBytes, clock),
    bounds: { maxEntries, maxBytes },
    now: () => clock.now(),
  })
  const queue = new PutQueue({ databases, maintenance, stepBytes: stepBytesFor(maxBytes), graceMs, clock, onFailure })
  const access = new AccessTimes(databases, clock, ACCESS_MERGE_MS)
  const promotions = new AccessTimes(databases, clock, PROMOTION_MERGE_MS)
  return { databases, access, promotions, maintenance, queue }
}
