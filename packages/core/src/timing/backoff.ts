/** How waiting times grow after repeated failures. All in milliseconds. */
export interface BackoffPolicy {
  readonly firstMs: number
  readonly maxMs: number
  /** Quiet time after which the count of failures starts again. */
  readonly resetAfterMs: number
}

/** State of the failures so far. */
export interface BackoffState {
  readonly failures: number
  readonly lastFailureAt: number
}

export const noFailures: BackoffState = Object.freeze({ failures: 0, lastFailureAt: Number.NEGATIVE_INFINITY })

/** Records one failure at `now` (milliseconds of any monotonic clock). */
export function recordFailure(state: BackoffState, policy: Pick<BackoffPolicy, 'resetAfterMs'>, now: number): BackoffState {
  const isFresh = now - state.lastFailureAt > policy.resetAfterMs
  return { failures: isFresh ? 1 : state.failures + 1, lastFailureAt: now }
}

/** How long to wait before the next try: nothing after a first failure, then doubling up to the maximum. */
export function delayMs(state: BackoffState, policy: BackoffPolicy): number {
  if (state.failures <= 1) return 0
  return Math.min(policy.maxMs, policy.firstMs * 2 ** (state.failures - 2))
}
