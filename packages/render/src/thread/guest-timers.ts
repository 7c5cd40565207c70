/** The longest delay that a timer of Node takes. */
const MAX_DELAY_MS = 2_147_483_647

/** The timers that a site's code has set. */
export class GuestTimers {
  readonly #timers = new Map<number, NodeJS.Timeout>()
  readonly #fire: (timerId: number) => void

  constructor(fire: (timerId: number) => void) {
    this.#fire = fire
  }

  set(timerId: number, delayMs: number): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timerId)
        this.#fire(timerId)
      },
      Math.min(Math.max(0, delayMs), MAX_DELAY_MS),
    )
    this.#timers.set(timerId, timer)
  }

  clear(timerId: number): void {
    clearTimeout(this.#timers.get(timerId))
    this.#timers.delete(timerId)
  }

  clearAll(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
