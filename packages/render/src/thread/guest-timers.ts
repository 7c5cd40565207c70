/** The longest delay that a timer of Node takes. */
const MAX_DELAY_MS = 2_147_483_647

interface DueTimer {
  readonly timerId: number
  readonly requestNumber: number
}

/**
 * The timers that a site's code has set. Those that come in one turn of the event loop fire by as few entries of the isolate
 * as there can be: an entry costs more than most tasks.
 */
export class GuestTimers {
  readonly #timers = new Map<number, NodeJS.Timeout>()
  readonly #fire: (timerIds: readonly number[]) => void
  /** Timers that fired in this turn, in order. */
  #due: DueTimer[] = []

  /** @param fire gets at most one timer of each request */
  constructor(fire: (timerIds: readonly number[]) => void) {
    this.#fire = fire
  }

  set(timerId: number, delayMs: number, requestNumber: number): void {
    const timer = setTimeout(() => this.#come(timerId, requestNumber), Math.min(Math.max(0, delayMs), MAX_DELAY_MS))
    this.#timers.set(timerId, timer)
  }

  clear(timerId: number): void {
    clearTimeout(this.#timers.get(timerId))
    this.#timers.delete(timerId)
  }

  clearAll(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    this.#due = []
  }

  #come(timerId: number, requestNumber: number): void {
    this.#timers.delete(timerId)
    if (this.#due.length === 0) setImmediate(() => this.#fireDue())
    this.#due.push({ timerId, requestNumber })
  }

  /** Microtasks of a task run before the next task of its request, so each task needs its own entry. */
  #fireDue(): void {
    let due = this.#due
    this.#due = []
    while (due.length > 0) {
      const requests = new Set<number>()
      const round: number[] = []
      const later: DueTimer[] = []
      for (const timer of due) {
        if (requests.has(timer.requestNumber)) later.push(timer)
        else {
          requests.add(timer.requestNumber)
          round.push(timer.timerId)
        }
      }
      this.#fire(round)
      due = later
    }
  }
}
