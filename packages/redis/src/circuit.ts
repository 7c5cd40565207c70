import type { Clock } from '@svc/core'

/** Failures in a row that open the circuit. */
const MAX_FAILURES = 3
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 2_000

/**
 * Keeps callers from waiting for a server that does not answer. After some failures in a row it opens: all commands fail at
 * once, and it probes the server by itself, with growing pauses, until a probe succeeds.
 */
export class Circuit {
  readonly #clock: Pick<Clock, 'after'>
  readonly #probe: () => Promise<unknown>
  readonly #onChange: () => void
  #failures = 0
  #isOpen = false
  #isClosed = false
  #cancelProbe: (() => void) | undefined

  /** @param probe rejects as long as the server does not answer */
  constructor(clock: Pick<Clock, 'after'>, probe: () => Promise<unknown>, onChange: () => void) {
    this.#clock = clock
    this.#probe = probe
    this.#onChange = onChange
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(): void {
    this.#failures++
    if (this.#isOpen || this.#failures < MAX_FAILURES) return
    this.#isOpen = true
    this.#onChange()
    this.#probeAfter(FIRST_PAUSE_MS)
  }

  /** Ends the probes. */
  close(): void {
    this.#isClosed = true
    this.#cancelProbe?.()
  }

  #probeAfter(pauseMs: number): void {
    if (this.#isClosed) return
    this.#cancelProbe = this.#clock.after(pauseMs, () => {
      this.#probe().then(
        () => {
          this.#isOpen = false
          this.#failures = 0
          this.#onChange()
        },
        () => this.#probeAfter(Math.min(pauseMs * 2, MAX_PAUSE_MS)),
      )
    })
  }
}
