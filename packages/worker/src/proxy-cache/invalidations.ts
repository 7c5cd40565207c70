import type { LeaseDesk, ProxyStore, PurgeOrder } from '@svc/cache'
import { asError } from '@svc/core'
import { leasePrefix } from './proxy-fill.ts'

/** URIs of one order; the rest go with the next. */
const MAX_URIS = 256

/** Dependencies of invalidations. */
interface InvalidationsOptions {
  readonly store: Pick<ProxyStore, 'hasUri' | 'entries'>
  readonly leases: Pick<LeaseDesk, 'isHeld'>
  /** True if other instances may have stored a response: every invalidation is ordered. */
  readonly isShared: boolean
  /** Has the master carry out a purge. */
  readonly order: (order: PurgeOrder) => Promise<unknown>
  readonly onProblem: (error: Error) => void
}

interface Batch {
  /** URI -> label of its site: an entry is known to be stored or in flight. */
  readonly certain: Map<string, string>
  /** URI -> label of its site: another worker may be about to store something. */
  readonly doubtful: Map<string, string>
  readonly done: PromiseWithResolvers<void>
}

/** Orders purges of URIs that requests have made invalid: one order in flight, the next one for all URIs that came meanwhile. */
export class Invalidations {
  readonly #options: InvalidationsOptions
  #next: Batch | undefined
  #isRunning = false

  constructor(options: InvalidationsOptions) {
    this.#options = options
  }

  /**
   * Resolves when no process of the instance serves stored responses for these URIs, or stores responses to earlier requests; also when
   * that is unknown.
   * @param isKnown true if an entry of them is known to be stored or in flight
   */
  add(label: string, uris: readonly string[], isKnown: boolean): Promise<void> {
    this.#next ??= { certain: new Map(), doubtful: new Map(), done: Promise.withResolvers() }
    const { certain, doubtful, done } = this.#next
    for (const uri of uris) {
      if (isKnown) certain.set(uri, label)
      else doubtful.set(uri, label)
    }
    this.#run()
    return done.promise
  }

  #run(): void {
    if (this.#isRunning || this.#next === undefined) return
    const batch = this.#next
    this.#next = undefined
    this.#isRunning = true
    this.#orderAll(batch)
      .catch((error) => this.#options.onProblem(asError(error)))
      .finally(() => {
        this.#isRunning = false
        batch.done.resolve()
        this.#run()
      })
  }

  async #orderAll({ certain, doubtful }: Batch): Promise<void> {
    const all = new Map(certain)
    if (await this.#isAffected(doubtful)) for (const [uri, label] of doubtful) all.set(uri, label)
    const found = [...all]
    for (let at = 0; at < found.length; at += MAX_URIS) {
      const some = found.slice(at, at + MAX_URIS)
      const uris = some.map(([uri]) => uri)
      const labels = [...new Set(some.map(([, label]) => label))]
      await this.#options.order({ layers: ['proxy'], scopes: [{ kind: 'uris', uris }], mode: 'drop', labels })
    }
  }

  /** True if another worker asks an upstream for one of these URIs, or has stored its response meanwhile. */
  async #isAffected(doubtful: ReadonlyMap<string, string>): Promise<boolean> {
    if (doubtful.size === 0) return false
    const { isShared, leases, store, onProblem } = this.#options
    if (isShared) return true
    try {
      if (await leases.isHeld(Array.from(doubtful, ([uri, label]) => leasePrefix(label, uri)))) return true
    } catch (error) {
      onProblem(asError(error))
      return true
    }
    // In this order: a response is stored before its lease ends.
    store.entries.refresh()
    return [...doubtful.keys()].some((uri) => store.hasUri(uri))
  }
}
