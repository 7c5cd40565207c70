import { withDeadline } from '@svc/core'

/** Something that happens once and can be waited for. */
export class Settled<T> {
  readonly #end = Promise.withResolvers<T>()

  resolve(value: T): void {
    this.#end.resolve(value)
  }

  /** Waits with a deadline that names what is missing. */
  within(timeoutMs: number, what: string): Promise<T> {
    return withDeadline(this.#end.promise, timeoutMs, what)
  }
}
