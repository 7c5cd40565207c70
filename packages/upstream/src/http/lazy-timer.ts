import { performance } from 'node:perf_hooks'
import { systemClock } from '@svc/core'

/**
 * A deadline that moves all the time and is seldom met: moving it on costs one assignment, since the timer behind it is only set
 * again when it has fired too early, or has to fire sooner.
 */
export class LazyTimer {
  readonly #onExpired: () => void
  #timer: NodeJS.Timeout | undefined
  #firesAt = 0
  #deadlineAt = Number.POSITIVE_INFINITY

  /** @param onExpired called once for each deadline that is met */
  constructor(onExpired: () => void) {
    this.#onExpired = onExpired
  }

  /** Sets the deadline in place of the one before. */
  set(delayMs: number): void {
    const now = systemClock.turn()
    this.#deadlineAt = now + delayMs
    if (this.#timer !== undefined && this.#firesAt <= this.#deadlineAt) return
    clearTimeout(this.#timer)
    this.#arm(now)
  }

  /** Takes the deadline away. */
  clear(): void {
    this.#deadlineAt = Number.POSITIVE_INFINITY
  }

  /** Takes the deadline away for good. */
  close(): void {
    this.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(now: number): void {
    this.#firesAt = this.#deadlineAt
    // Timers run out up to a millisecond early.
    this.#timer = setTimeout(() => this.#fired(), Math.ceil(this.#deadlineAt - now)).unref()
  }

  #fired(): void {
    this.#timer = undefined
    const now = performance.now()
    if (this.#deadlineAt === Number.POSITIVE_INFINITY) return
    if (now < this.#deadlineAt) {
      this.#arm(now)
      return
    }
    // If this process was blocked itself, bytes that arrived meanwhile are read first.
    const due = this.#deadlineAt
    setImmediate(() => {
      if (this.#deadlineAt !== due) return
      this.clear()
      this.#onExpired()
    })
  }
}
