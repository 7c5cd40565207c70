import type { PurgeOrder } from '@svc/cache'
import { asError } from '@svc/core'

/** URIs of one order; the rest go with the next. */
const MAX_URIS = 256

/** Orders purges of URIs that requests have made invalid: one order under way, the next of all that came meanwhile. */
export class Invalidations {
  readonly #order: (order: PurgeOrder) => Promise<unknown>
  readonly #onProblem: (error: Error) => void
  #next: { readonly uris: Set<string>; readonly done: PromiseWithResolvers<void> } | undefined
  #isRunning = false

  constructor(order: (order: PurgeOrder) => Promise<unknown>, onProblem: (error: Error) => void) {
    this.#order = order
    this.#onProblem = onProblem
  }

  /** Resolves when no process of the instance serves what is stored for these URIs; also when that cannot be told. */
  add(uris: readonly string[]): Promise<void> {
    this.#next ??= { uris: new Set(), done: Promise.withResolvers<void>() }
    const { uris: known, done } = this.#next
    for (const uri of uris) known.add(uri)
    this.#run()
    return done.promise
  }

  #run(): void {
    if (this.#isRunning || this.#next === undefined) return
    const { uris, done } = this.#next
    this.#next = undefined
    this.#isRunning = true
    this.#orderAll([...uris])
      .catch((error) => this.#onProblem(asError(error)))
      .finally(() => {
        this.#isRunning = false
        done.resolve()
        this.#run()
      })
  }

  async #orderAll(uris: readonly string[]): Promise<void> {
    for (let at = 0; at < uris.length; at += MAX_URIS) {
      const some = uris.slice(at, at + MAX_URIS)
      await this.#order({ layers: ['proxy'], scopes: [{ kind: 'uris', uris: some }], mode: 'drop' })
    }
  }
}
