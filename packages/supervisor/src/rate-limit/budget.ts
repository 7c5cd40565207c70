export const WINDOW_SECONDS = 60
/** Seconds that a window touches: it begins and ends within one. */
export const COUNTED_SECONDS = WINDOW_SECONDS + 1

/** The budget of a client, and how it is handed out in slices. All are numbers of requests. */
export interface Budget {
  /** That may pass in the counted seconds. A client that sends evenly at its budget stays below. */
  readonly limit: number
  /** Largest slice. */
  readonly maxSlice: number
  /** Slices that are given as long as the budget lasts: even if each worker leaves one unused, nothing is missing. */
  readonly minSlice: number
  /** That an even client may send in one second: they are kept back for whichever worker it sends them to. */
  readonly reserve: number
  /** Of the rest beyond the reserve, a slice is at most this part. */
  readonly parts: number
}

/** @param workers of all instances that count together */
export function budgetOf(requestsPerMinute: number, workers: number): Budget {
  const limit = Math.floor(1.02 * requestsPerMinute) + 1
  const even = Math.ceil((requestsPerMinute * COUNTED_SECONDS) / WINDOW_SECONDS)
  return {
    limit,
    maxSlice: Math.max(1, Math.floor(requestsPerMinute / (16 * workers))),
    minSlice: Math.max(0, Math.floor((limit - 1 - even) / (4 * workers))),
    reserve: Math.ceil(requestsPerMinute / WINDOW_SECONDS) + 1,
    parts: 2 * workers,
  }
}

/** Size of the slice for a worker that has `waiting` requests, of what is `left`. The script of `SharedWindows` computes the same. */
export function sliceOf({ maxSlice, minSlice, reserve, parts }: Budget, left: number, waiting: number): number {
  const ahead = Math.min(maxSlice, Math.max(minSlice, Math.floor((left - reserve) / parts)))
  return Math.max(0, Math.min(left, Math.max(waiting, ahead)))
}
