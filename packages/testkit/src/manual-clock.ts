import type { TurnClock } from '@svc/core'

interface Timer {
  readonly at: number
  readonly task: () => void
}

/** A clock that stands still until it is advanced. */
export class ManualClock implements TurnClock {
  #nowMs: number
  readonly #timers = new Set<Timer>()

  constructor(nowMs = Date.parse('2026-01-01T00:00:00Z')) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#nowMs
  }

  turn(): number {
    return this.#nowMs
  }

  /** Number of set timers. */
  get timers(): number {
    return this.#timers.size
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { at: this.#nowMs + delayMs, task }
    this.#timers.add(timer)
    return () => {
      this.#timers.delete(timer)
    }
  }

  /** Advances the time as in a blocked process: due timers run with the next `advance`. */
  stall(ms: number): void {
    this.#nowMs += ms
  }

  /** Advances the time and runs due timers in the order in which they were set. */
  advance(ms: number): void {
    this.#nowMs += ms
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#nowMs || !this.#timers.delete(timer)) continue
      timer.task()
    }
  }
}
