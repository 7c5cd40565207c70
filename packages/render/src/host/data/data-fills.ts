import {
  type FillEnd,
  type FillPolicy,
  Fills,
  type Purgeable,
  type PurgeLedger,
  RetryPauses,
  type SharedFill,
  type SharedRight,
} from '@svc/cache'
import type { Clock } from '@svc/core'

/** A thread produces no more entries than these at once. */
const MAX_OF_OWNER = 1_024

const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

const pauseMs = (failures: number) => Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 16), MAX_PAUSE_MS)

interface DataFillOptions {
  readonly key: string
  /** The tags and labels by which purges match the entry. */
  readonly entry: Purgeable
  /** The thread that produces it: its fills end with it. */
  readonly owner: object
  /** After this time the fill is lost. */
  readonly timeoutMs: number
  readonly isRefresh: boolean
}

/**
 * An entry that a thread of a site produces: the policy of the data cache for one fill. The host cannot call the code of the
 * site. It answers the question of the thread with the id of the fill, and the thread gives that back with the result.
 */
class DataFill implements FillPolicy<object> {
  readonly id: number
  readonly entry: Purgeable
  readonly owner: object
  readonly shared: SharedFill<object, DataFill>
  /** To share the entry with other instances; undefined: they do not get it. */
  right: SharedRight | undefined
  readonly #onSettled: (fill: DataFill, end: FillEnd) => void

  constructor(id: number, options: DataFillOptions, fills: DataFillTable, onSettled: (fill: DataFill, end: FillEnd) => void) {
    const { key, entry, owner, isRefresh } = options
    this.id = id
    this.entry = entry
    this.owner = owner
    this.#onSettled = onSettled
    this.shared = fills.open(key, this, { isRefresh })
  }

  ready(): 'fill' {
    return 'fill'
  }

  produce(): void {
    // The thread does.
  }

  give(): 'wait' {
    return 'wait'
  }

  settled(end: FillEnd): void {
    this.#onSettled(this, end)
  }

  dismiss(): void {
    // Questions of other threads wait for the end of the shared fill.
  }
}

type DataFillTable = Fills<object, DataFill>

/** The entries of the data cache that the threads of this host produce: one at a time for each key. */
export class DataFills {
  readonly #clock: Clock
  readonly #fills: DataFillTable
  readonly #pauses: RetryPauses
  readonly #byOwner = new Map<object, Map<number, DataFill>>()
  #lastId = 0

  constructor(ledger: PurgeLedger, clock: Clock) {
    this.#clock = clock
    this.#fills = new Fills({ ledger, clock, onProblem: () => undefined })
    this.#pauses = new RetryPauses(clock, pauseMs)
  }

  get size(): number {
    return this.#fills.size
  }

  /** The fill of a key that a caller may wait for: no purge has overtaken it. */
  joinable(key: string, entry: Purgeable): DataFill | undefined {
    const fill = this.#fills.joinable(key, entry)?.policy
    return fill?.shared.mayStore(fill.entry) === true ? fill : undefined
  }

  /** True if a thread already produces so many entries that one more is not stored. */
  hasTooMany(owner: object): boolean {
    return (this.#byOwner.get(owner)?.size ?? 0) >= MAX_OF_OWNER
  }

  /** Opens a fill. One of the same key that a purge has overtaken goes on for those who wait for it. */
  open(options: DataFillOptions): DataFill {
    const { owner, timeoutMs } = options
    const cancel = this.#clock.after(timeoutMs, () => fill.shared.end({ kind: 'lost' }))
    const fill: DataFill = new DataFill(++this.#lastId, options, this.#fills, (ended, end) => {
      cancel()
      this.#settled(ended, end)
    })
    const others = this.#byOwner.get(owner) ?? new Map<number, DataFill>()
    this.#byOwner.set(owner, others.set(fill.id, fill))
    fill.shared.join(owner)
    fill.shared.start()
    return fill
  }

  /** The fill with this id, if it is in flight and belongs to the owner. */
  find(id: number, owner: object): DataFill | undefined {
    return this.#byOwner.get(owner)?.get(id)
  }

  /** Ends the fills of a thread that has ended. */
  ownerGone(owner: object): void {
    for (const { shared } of [...(this.#byOwner.get(owner)?.values() ?? [])]) shared.end({ kind: 'lost' })
  }

  /** True if a stale entry is served without a refresh for a while, because the last refresh failed. */
  isPaused(key: string): boolean {
    return this.#pauses.isPaused(key)
  }

  #settled({ id, owner, shared }: DataFill, { kind }: FillEnd): void {
    const others = this.#byOwner.get(owner)
    others?.delete(id)
    if (others?.size === 0) this.#byOwner.delete(owner)
    if (kind === 'stored') this.#pauses.succeeded(shared.key)
    else if (kind !== 'lost' && shared.isRefresh) this.#pauses.failed(shared.key)
  }
}
