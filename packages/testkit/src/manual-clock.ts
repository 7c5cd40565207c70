import type { Clock } from '@svc/core'

/** A clock that stands still until it is moved on. */
export class ManualClock implements Clock {
  #nowMs: number
  #timers: { readonly at: number; readonly task: () => void }[] = []

  constructor(nowMs = Date.parse('2026-01-01T00:00:00Z')) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#nowMs
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { at: this.#nowMs + delayMs, task }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** Moves on and runs what is due. */
  advance(ms: number): void {
    this.#nowMs += ms
    for (const { at, task } of this.#timers.splice(0)) {
      if (at <= this.#nowMs) task()
      else this.after(at - this.#nowMs, task)
    }
  }
}
