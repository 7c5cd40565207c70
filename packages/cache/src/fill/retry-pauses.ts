import { type BackoffState, type Clock, noFailures, recordFailure } from '@svc/core'

/** Quiet time after which the count of a key's failures starts again. */
const RESET_AFTER_MS = 300_000
/** Past this many keys the oldest are forgotten: the next request for each may try again at once. */
const MAX_KEYS = 10_000

/** Keys whose stale entry could not be refreshed: it is served without another attempt for a while. */
export class RetryPauses {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #pauseMs: (failures: number) => number
  /** Oldest failure first. */
  readonly #failures = new Map<string, BackoffState>()

  /** @param pauseMs how long to wait after so many failures in a row */
  constructor(clock: Pick<Clock, 'monotonic'>, pauseMs: (failures: number) => number) {
    this.#clock = clock
    this.#pauseMs = pauseMs
  }

  isPaused(key: string): boolean {
    const state = this.#failures.get(key)
    return state !== undefined && this.#clock.monotonic() < state.lastFailureAt + this.#pauseMs(state.failures)
  }

  failed(key: string): void {
    const state = recordFailure(this.#failures.get(key) ?? noFailures, { resetAfterMs: RESET_AFTER_MS }, this.#clock.monotonic())
    this.#failures.delete(key)
    this.#failures.set(key, state)
    const oldest = this.#failures.size > MAX_KEYS ? this.#failures.keys().next().value : undefined
    if (oldest !== undefined) this.#failures.delete(oldest)
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }

  /** Forgets the keys of a label, which begin with the label and a NUL: its code has changed. */
  forgetLabel(label: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(`${label}\0`)) this.#failures.delete(key)
  }
}
