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

/** A clock for code that runs several times for each request. */
export interface TurnClock extends Clock {
  /** The monotonic time, read once in each turn of the event loop, as the timers of Node.js have it. */
  turn(): number
}

class TurnTime {
  #nowMs: number | undefined
  readonly #forget = () => {
    this.#nowMs = undefined
  }

  get(): number {
    if (this.#nowMs === undefined) {
      this.#nowMs = performance.now()
      setImmediate(this.#forget)
    }
    return this.#nowMs
  }
}

const turnTime = new TurnTime()

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: TurnClock = {
  now: () => Date.now(),
  // The global of this name is looked up through an accessor each time, which costs more than the clock.
  monotonic: () => performance.now(),
  turn: () => turnTime.get(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
