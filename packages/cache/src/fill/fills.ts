import { type Clock, SharedPlaces } from '@svc/core'
import type { Purgeable, PurgeLayer } from '../purge/purge.ts'
import type { PurgeLedger } from '../purge/purge-ledger.ts'
import type { LeaseDesk } from './lease.ts'
import { type FillOptions, type FillPolicy, SharedFill } from './shared-fill.ts'

/**
 * Refreshes in the background at a time, of which one label gets half: clients come first, and slow upstreams of one site hold up no
 * other. A stale entry without a place is refreshed at a later request.
 */
const MAX_REFRESHES = 64

/** The label that the key of an entry begins with. */
function labelOf(key: string): string {
  const end = key.indexOf('\0')
  return end === -1 ? key : key.slice(0, end)
}

interface FillsOptions {
  readonly ledger: PurgeLedger
  /** undefined: this process fills without asking the others. */
  readonly leases?: LeaseDesk
  readonly clock: Pick<Clock, 'after' | 'monotonic'>
  readonly onProblem: (error: Error) => void
}

/** The fills of a cache in this process: requests for one key share one. */
export class Fills<Waiter extends object, Policy extends FillPolicy<Waiter>> {
  readonly #options: FillsOptions
  /** Those that requests may join. */
  readonly #open = new Map<string, SharedFill<Waiter, Policy>>()
  readonly #all = new Set<SharedFill<Waiter, Policy>>()
  readonly #refreshes = new SharedPlaces(MAX_REFRESHES)

  constructor(options: FillsOptions) {
    this.#options = options
  }

  /** How many values are being produced. */
  get size(): number {
    return this.#all.size
  }

  /** The policies of all fills. */
  get policies(): Policy[] {
    return Array.from(this.#all, ({ policy }) => policy)
  }

  /** True if the stale entry of a key may be refreshed in the background: there is room in the share of its label. */
  hasRoomToRefresh(key: string): boolean {
    return this.#refreshes.hasRoom(labelOf(key))
  }

  /**
   * The fill of a key that a request may join.
   * @param entry the properties of the value that purges can match, as far as known in advance: a fill that a purge has overtaken is not
   *   joined; undefined: the policy decides when it gives the value
   */
  joinable(key: string, entry?: Purgeable, layer?: PurgeLayer): SharedFill<Waiter, Policy> | undefined {
    const fill = this.#open.get(key)
    if (fill === undefined) return undefined
    return entry === undefined || fill.mayStore(entry, layer) ? fill : undefined
  }

  /** Opens a fill; its `start` starts it. Requests join it by its key, instead of an earlier one, unless it `isPrivate`. */
  open(key: string, policy: Policy, options: FillOptions & { readonly isPrivate?: boolean } = {}): SharedFill<Waiter, Policy> {
    const { ledger, leases, clock, onProblem } = this.#options
    const fill: SharedFill<Waiter, Policy> = new SharedFill(
      key,
      policy,
      {
        ledger,
        leases,
        clock,
        onProblem,
        onClosed: () => {
          if (this.#open.get(key) === fill) this.#open.delete(key)
        },
        onEnded: () => {
          this.#all.delete(fill)
          if (fill.isRefresh) this.#refreshes.free(labelOf(key))
        },
      },
      options,
    )
    this.#all.add(fill)
    if (fill.isRefresh) this.#refreshes.take(labelOf(key))
    if (options.isPrivate !== true) this.#open.set(key, fill)
    return fill
  }
}
