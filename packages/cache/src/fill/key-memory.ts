import { type BackoffState, type Clock, noFailures, recordFailure } from '@svc/core'

/** How long a key is remembered after a response that could not be stored. */
const PASS_MS = 60_000
/** Quiet time after which the count of a key's failures starts again. */
const RESET_AFTER_MS = 300_000
/** Past this many keys the oldest are forgotten. */
const MAX_KEYS = 10_000
/** Past this many characters of all keys too: clients choose how long they are. */
const MAX_CHARS = 4 << 20

/** A value for each of the keys that were set last. A key of a label begins with the label and a NUL. */
class KeyMemory<Value> {
  /** Oldest first. */
  readonly #values = new Map<string, Value>()
  #chars = 0

  get size(): number {
    return this.#values.size
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    this.delete(key)
    this.#values.set(key, value)
    this.#chars += key.length
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= MAX_KEYS && this.#chars <= MAX_CHARS) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    if (this.#values.delete(key)) this.#chars -= key.length
  }

  forgetLabel(label: string): void {
    for (const key of this.#values.keys()) if (key.startsWith(`${label}\0`)) this.delete(key)
  }

  clear(): void {
    this.#values.clear()
    this.#chars = 0
  }
}

/**
 * Keys whose last response could not be stored: requests for them do not wait for each other (Varnish: hit-for-miss). One that is
 * forgotten costs a lease when it is requested again.
 */
export class PassMemory {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #passes = new KeyMemory<{ readonly untilMs: number; readonly detail: string }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  get size(): number {
    return this.#passes.size
  }

  /** Why the last response of a key could not be stored; undefined when the key is not remembered. */
  get(key: string): string | undefined {
    const pass = this.#passes.get(key)
    if (pass === undefined) return undefined
    if (this.#clock.monotonic() < pass.untilMs) return pass.detail
    this.#passes.delete(key)
    return undefined
  }

  /** Remembers a key from now on. `detail`: a word for the Cache-Status field. */
  add(key: string, detail: string): void {
    this.#passes.set(key, { untilMs: this.#clock.monotonic() + PASS_MS, detail })
  }

  delete(key: string): void {
    this.#passes.delete(key)
  }

  /** Forgets all keys of a label, because its code has changed. */
  forgetLabel(label: string): void {
    this.#passes.forgetLabel(label)
  }

  clear(): void {
    this.#passes.clear()
  }
}

/** Keys whose stale entry could not be refreshed: it is served without another attempt for a while. One that is forgotten is tried at once. */
export class RetryPauses {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #pauseMs: (failures: number) => number
  readonly #failures = new KeyMemory<BackoffState>()

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
    const known = this.#failures.get(key) ?? noFailures
    this.#failures.set(key, recordFailure(known, { resetAfterMs: RESET_AFTER_MS }, this.#clock.monotonic()))
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }

  /** Forgets the keys of a label: its code has changed. */
  forgetLabel(label: string): void {
    this.#failures.forgetLabel(label)
  }
}
