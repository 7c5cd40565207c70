import type { Clock } from '@svc/core'

/** How long a key is remembered after a render that could not be stored. */
const PASS_MS = 60_000
/** Past this many keys the oldest are forgotten: they cost a lease each when they are asked for again. */
const MAX_KEYS = 10_000

/** Why a key is passed, and until when. */
interface Pass {
  readonly untilMs: number
  readonly detail: string
}

/**
 * Keys whose last render could not be stored: nobody waits for another's render of them. A key of a label begins with it and a
 * NUL.
 */
export class PassMemory {
  readonly #clock: Clock
  /** Oldest first. */
  readonly #passes = new Map<string, Pass>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#passes.size
  }

  /** Why the last render of a key could not be stored; undefined when nothing is remembered of it. */
  get(key: string): string | undefined {
    const pass = this.#passes.get(key)
    if (pass === undefined) return undefined
    if (this.#clock.monotonic() < pass.untilMs) return pass.detail
    this.#passes.delete(key)
    return undefined
  }

  /** Remembers a key, from now on. `detail`: a word for people. */
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

  /** A label's code has changed. */
  forgetLabel(label: string): void {
    for (const key of this.#passes.keys()) if (key.startsWith(`${label}\0`)) this.#passes.delete(key)
  }

  clear(): void {
    this.#passes.clear()
  }
}
