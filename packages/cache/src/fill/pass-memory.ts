import type { Clock } from '@svc/core'

/** How long a key is remembered after a response that could not be stored. */
const PASS_MS = 60_000
/** Past this many keys the oldest are forgotten: each costs a lease when it is requested again. */
const MAX_KEYS = 10_000

/** Why a key is passed, and until when. */
interface Pass {
  readonly untilMs: number
  readonly detail: string
}

/**
 * Keys whose last response could not be stored: requests for them do not wait for each other (Varnish: hit-for-miss). A key of
 * a label begins with the label and a NUL.
 */
export class PassMemory {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** Oldest first. */
  readonly #passes = new Map<string, Pass>()

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
    this.#passes.delete(key)
    this.#passes.set(key, { untilMs: this.#clock.monotonic() + PASS_MS, detail })
    if (this.#passes.size <= MAX_KEYS) return
    const oldest = this.#passes.keys().next().value
    if (oldest !== undefined) this.#passes.delete(oldest)
  }

  delete(key: string): void {
    this.#passes.delete(key)
  }

  /** Forgets all keys of a label, because its code has changed. */
  forgetLabel(label: string): void {
    for (const key of this.#passes.keys()) if (key.startsWith(`${label}\0`)) this.#passes.delete(key)
  }

  clear(): void {
    this.#passes.clear()
  }
}
