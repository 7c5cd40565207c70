import { performance } from 'node:perf_hooks'

/** Time as seen by code that must be testable: wall time in ms since the epoch, monotonic time in ms, and timers. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Milliseconds of a clock that never goes back. */
  monotonic(): number
  /** Runs `task` after `delayMs`; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void
}

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // The global of this name is looked up through an accessor each time, which costs more than the clock.
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
