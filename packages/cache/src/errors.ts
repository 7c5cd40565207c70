import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by `cache`. */
export type CacheErrorCode =
  /** The store could not follow a purge: what the purge is about may still be found in it. */
  | 'CACHE_PURGE_FAILED'
  /** There is no room in the file of the store, and eviction did not make enough: the entry is not kept. */
  | 'CACHE_NO_ROOM'
  /** An entry of the store is not whole: reads of it are misses. */
  | 'CACHE_TORN_ENTRY'

const table = {
  CACHE_PURGE_FAILED: { retryable: true },
  CACHE_NO_ROOM: { retryable: true },
  CACHE_TORN_ENTRY: {},
} satisfies ErrorTable<CacheErrorCode>

/** An error of the `cache` package. */
export class CacheError extends AppError<CacheErrorCode> {
  constructor(code: CacheErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'CacheError'
  }
}
