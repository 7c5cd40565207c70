import { clearTimeout, setTimeout } from '../time/timers.ts'
import { DOMException } from './dom-exception.ts'
import { Event, EventTarget } from './event-target.ts'

const construction = Symbol('construction')

/** DOM `AbortSignal`. Made by `AbortController`, `AbortSignal.abort`, `.timeout` and `.any`. */
export class AbortSignal extends EventTarget {
  #reason: unknown
  #isAborted = false
  #onabort: ((event: Event) => unknown) | null = null
  readonly #dependents = new Set<AbortSignal>()
  readonly #sources = new Set<AbortSignal>()

  constructor(key?: symbol) {
    if (key !== construction) throw new TypeError('Illegal constructor')
    super()
  }

  get aborted(): boolean {
    return this.#isAborted
  }

  get reason(): unknown {
    return this.#reason
  }

  get onabort(): ((event: Event) => unknown) | null {
    return this.#onabort
  }

  set onabort(listener: ((event: Event) => unknown) | null) {
    if (this.#onabort !== null) this.removeEventListener('abort', this.#onabort)
    this.#onabort = typeof listener === 'function' ? listener : null
    if (this.#onabort !== null) this.addEventListener('abort', this.#onabort)
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason
  }

  override get [Symbol.toStringTag](): string {
    return 'AbortSignal'
  }

  /** For `AbortController` and the guest itself. */
  static create(): AbortSignal {
    return new AbortSignal(construction)
  }

  /** For `AbortController` and the guest itself: aborts, then the signals made of it with `any`. */
  static trigger(signal: AbortSignal, reason: unknown): void {
    if (signal.#isAborted) return
    signal.#isAborted = true
    signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason
    for (const source of signal.#sources) source.#dependents.delete(signal)
    signal.dispatchEvent(new Event('abort'))
    for (const dependent of signal.#dependents) AbortSignal.trigger(dependent, signal.#reason)
    signal.#dependents.clear()
  }

  /** Returns a signal that is aborted already. */
  static abort(reason?: unknown): AbortSignal {
    const signal = AbortSignal.create()
    AbortSignal.trigger(signal, reason)
    return signal
  }

  /** Returns a signal that aborts after some milliseconds with a TimeoutError. */
  static timeout(milliseconds: number): AbortSignal {
    const delay = Number(milliseconds)
    if (!Number.isFinite(delay) || delay < 0) throw new TypeError('AbortSignal.timeout needs a number of milliseconds')
    const signal = AbortSignal.create()
    const reason = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    const timer = setTimeout(() => AbortSignal.trigger(signal, reason()), delay)
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
    return signal
  }

  /** Returns a signal that aborts with the first of the given ones. */
  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const result = AbortSignal.create()
    const sources = [...signals]
    if (sources.some((source) => !(source instanceof AbortSignal))) throw new TypeError('AbortSignal.any needs signals')
    const aborted = sources.find((source) => source.aborted)
    if (aborted !== undefined) {
      AbortSignal.trigger(result, aborted.reason)
      return result
    }
    for (const source of sources) {
      source.#dependents.add(result)
      result.#sources.add(source)
    }
    return result
  }
}

/** DOM `AbortController`. */
export class AbortController {
  readonly signal = AbortSignal.create()

  abort(reason?: unknown): void {
    AbortSignal.trigger(this.signal, reason)
  }

  get [Symbol.toStringTag](): string {
    return 'AbortController'
  }
}
