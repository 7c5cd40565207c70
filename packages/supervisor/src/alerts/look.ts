import type { Clock } from '@svc/core'

/** Options of a `Look`. */
interface LookOptions<Value> {
  readonly look: () => Promise<Value>
  /** A value is so long good enough; 0: each refresh looks. */
  readonly everyMs: number
  /** An older value counts as unknown. */
  readonly maxAgeMs: number
  readonly clock: Clock
}

/** A value that takes time to find out. One look at a time: one that never ends holds up neither its owner nor other looks. */
export class Look<Value> {
  readonly #options: LookOptions<Value>
  #last: { readonly value: Value; readonly at: number } | undefined
  #running: Promise<void> | undefined

  constructor(options: LookOptions<Value>) {
    this.#options = options
  }

  /** The value; undefined: it is unknown at the moment. */
  get value(): Value | undefined {
    const { maxAgeMs } = this.#options
    return this.#age() <= maxAgeMs ? this.#last?.value : undefined
  }

  /** Looks, unless the value is good enough or a look goes on. Resolves at the end of the look, or after `timeoutMs`. Never rejects. */
  async refresh(timeoutMs: number): Promise<void> {
    const { everyMs, clock } = this.#options
    if (this.#running === undefined && this.#age() < everyMs) return
    this.#running ??= this.#look()
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(timeoutMs, resolve)
    await Promise.race([promise, this.#running])
    cancel()
  }

  #age(): number {
    const { at } = this.#last ?? { at: Number.NEGATIVE_INFINITY }
    return this.#options.clock.monotonic() - at
  }

  async #look(): Promise<void> {
    const { look, clock } = this.#options
    try {
      const value = await look()
      this.#last = { value, at: clock.monotonic() }
    } catch {
      // The value stays unknown once the last one is too old.
    } finally {
      this.#running = undefined
    }
  }
}
