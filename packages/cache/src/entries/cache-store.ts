import type { Purge } from '../purge/purge.ts'
import type { EntryFacts, KnownVariance, StoredEntry, Variance } from './entry.ts'

/** How much a store holds. */
export interface StoreSize {
  readonly entries: number
  /** Bytes of bodies and facts. */
  readonly bytes: number
}

/** A purge whose entries are known. */
export interface BegunPurge {
  /** How many entries it takes. */
  readonly count: number
  /** Settles when none of them is found in the store any more; undefined: none is. Rejects with CACHE_PURGE_FAILED. */
  readonly followed: Promise<void> | undefined
}

/** A store that reports the entries of a purge before it has applied the purge. */
export interface PurgedStore extends Pick<CacheStore, 'purge'> {
  /**
   * Purges, and resolves as soon as the purged set is certain, however the process ends. The caller must not hand out entries that
   * it finds in the store until the purge is applied.
   * @throws CACHE_PURGE_FAILED
   */
  beginPurge(purge: Purge): Promise<BegunPurge>
}

/**
 * Entries by key, shared by all processes of an instance. Reads are synchronous and see everything that was committed before
 * the turn began, or before `refresh`. A store never fails a request: reads that fail are misses, writes that fail are lost
 * and counted.
 */
export interface CacheStore {
  get(key: string): StoredEntry | undefined
  /** Resolves when the entry is committed and visible to every process after its `refresh`; false when it was not kept. */
  put(key: string, facts: EntryFacts, body: Uint8Array): Promise<boolean>
  /** Deletes or marks stale the entries that match and are older than the purge (`seq < purge.number`). Resolves with how many. */
  purge(purge: Purge): Promise<number>
  variance(label: string, path: string): KnownVariance | undefined
  /**
   * Records the request inputs that a render read: adds them to the variance record, or resets an outdated record. Drops the entries
   * that are not found by it any more. Resolves when committed.
   * @param seq number of the last purge that the render knew when it began
   */
  noteReads(label: string, path: string, reads: Variance, seq: number): Promise<void>
}
