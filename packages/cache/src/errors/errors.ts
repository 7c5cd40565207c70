import { errorClass } from '@svc/core'

/** An error of the `cache` package. */
export const CacheError = errorClass('CacheError', {
  /** The store could not follow a purge: what the purge is about may still be found in it. */
  CACHE_PURGE_FAILED: { retryable: true },
  /** There is no room in the file of the store, and eviction did not make enough: the entry is not kept. */
  CACHE_NO_ROOM: { retryable: true },
  /** An entry of the store is not whole: reads of it are misses. */
  CACHE_TORN_ENTRY: {},
})
export type CacheError = InstanceType<typeof CacheError>
