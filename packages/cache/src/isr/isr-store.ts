import { join } from 'node:path'
import { type Clock, systemClock } from '@svc/core'
import { touchesLayer } from '../purge/match-purge.ts'
import type { Purge } from '../purge/purge.ts'
import type { CacheStore, StoreSize } from '../store/cache-store.ts'
import type { EntryFacts, StoredEntry, Variance } from '../store/entry.ts'
import { readCounts } from './counts.ts'
import { type Databases, openDatabases } from './databases.ts'
import { decodeHead, decodeRecord } from './entry-codec.ts'
import { idOf, pathText, ROW, rowKey } from './index-keys.ts'
import { PutQueue } from './put-queue.ts'
import { purgeStore } from './store-purge.ts'
import { StoreTransaction } from './store-transaction.ts'
import { decodeVariance, encodeVariance, varianceKey } from './variances.ts'

export interface IsrStoreOptions {
  /** `cache.dir` of the instance; the store lies in `isr` below it. */
  readonly cacheDir: string
  readonly maxEntries: number
  /** Bytes of facts and bodies. */
  readonly maxBytes: number
  /** Milliseconds that an entry is kept after its stale time, for when it cannot be made anew. */
  readonly graceMs: number
  readonly clock?: Clock
}

/**
 * The lmdb store that all processes of an instance share. Reads and small writes are synchronous calls into shared memory;
 * bodies are copied out, so that what `get` returns is the caller's own.
 */
export class IsrStore implements CacheStore {
  readonly #databases: Databases
  readonly #queue: PutQueue
  readonly #isOff: boolean
  #isSnapshotHeld = false
  #isClosed = false
  #failedReads = 0

  private constructor(databases: Databases, options: Required<IsrStoreOptions>) {
    this.#databases = databases
    this.#isOff = options.maxEntries === 0 || options.maxBytes === 0
    this.#queue = new PutQueue(databases, options)
  }

  static async open(options: IsrStoreOptions): Promise<IsrStore> {
    const databases = await openDatabases(join(options.cacheDir, 'isr'), Math.max(2 * options.maxBytes, 1 << 20))
    return new IsrStore(databases, { clock: systemClock, ...options })
  }

  get(key: string): StoredEntry | undefined {
    return this.#read(() => {
      const id = idOf(key)
      const headBytes = this.#databases.heads.getBinary(id)
      if (headBytes === undefined) return undefined
      const head = decodeHead(headBytes)
      const record = head.isDead ? undefined : this.#databases.records.getBinary(id)
      if (record === undefined) return undefined
      const found = decodeRecord(head, record)
      return found.key === key ? found.entry : undefined
    })
  }

  put(key: string, facts: EntryFacts, body: Uint8Array): Promise<boolean> {
    if (this.#isOff || this.#isClosed) return Promise.resolve(false)
    return this.#queue.add({ key, facts, body })
  }

  async purge(purge: Purge): Promise<number> {
    if (this.#isClosed || !touchesLayer(purge, 'isr')) return 0
    await this.flushed()
    this.refresh()
    return purgeStore(this.#databases, purge)
  }

  variance(label: string, path: string): Variance | undefined {
    return this.#read(() => {
      const bytes = this.#databases.variances.getBinary(varianceKey(label, path))
      return bytes === undefined ? undefined : decodeVariance(bytes)
    })
  }

  async widen(label: string, path: string, variance: Variance): Promise<void> {
    if (this.#isOff || this.#isClosed) return
    const { index, records, variances } = this.#databases
    StoreTransaction.run(this.#databases, (transaction) => {
      const key = varianceKey(label, path)
      const bytes = variances.getBinary(key)
      const known = bytes === undefined ? { query: false, host: false } : decodeVariance(bytes)
      const wide = { query: known.query || variance.query, host: known.host || variance.host }
      for (const id of index.getValues(rowKey(ROW.path, pathText(path, label)))) {
        const head = transaction.head(id)
        const record = records.getBinary(id)
        if (head === undefined || record === undefined) continue
        const { entry } = decodeRecord(head, record)
        if ((wide.query && !entry.isQueryKeyed) || (wide.host && entry.host === '')) transaction.clear(id)
      }
      variances.putSync(key, encodeVariance(wide))
    })
  }

  /** Reads after this call see all that any process has committed before it. */
  refresh(): void {
    this.#databases.root.resetReadTxn()
  }

  /** Resolves when all that this process has put so far is committed or given up. */
  flushed(): Promise<void> {
    return this.#queue.flushed()
  }

  size(): StoreSize {
    const { entries, bytes } = this.#read(() => readCounts(this.#databases)) ?? { entries: 0, bytes: 0 }
    return { entries, bytes }
  }

  /** Reads that failed in this process and were misses therefore. */
  get failedReads(): number {
    return this.#failedReads
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.flushed()
    await this.#databases.root.close()
  }

  /** Runs a read in the snapshot of this turn. A read that fails is a miss. */
  #read<Result>(read: () => Result): Result | undefined {
    if (this.#isClosed) return undefined
    this.#holdSnapshot()
    try {
      return read()
    } catch {
      // A damaged page: the entry is as good as not there, and the request goes on without it.
      this.#failedReads++
      return undefined
    }
  }

  /** Snapshots end with the turn: the next one must see what others have committed meanwhile. */
  #holdSnapshot(): void {
    if (this.#isSnapshotHeld) return
    this.#isSnapshotHeld = true
    queueMicrotask(() => {
      this.#isSnapshotHeld = false
      if (!this.#isClosed) this.refresh()
    })
  }
}
