import { errorClass } from '@svc/core'

/** An error of the `cache` package. */
export const CacheError = errorClass('CacheError', {
  /** The store failed to apply a purge: it may still hold entries that the purge covers. */
  CACHE_PURGE_FAILED: { retryable: true },
  /** The store is full and eviction did not free enough room: the entry is not stored. */
  CACHE_NO_ROOM: { retryable: true },
  /** An entry of the store is incomplete: reads of it are misses. */
  CACHE_TORN_ENTRY: {},
  /** A render host asked for data of the shared cache that is none of its sites'. */
  CACHE_RELAY: {},
})
export type CacheError = InstanceType<typeof CacheError>
