import { type PurgeMatcher, purgeMatcher, touchesLayer } from './match-purge.ts'
import type { Purge, Purgeable, PurgeLayer, PurgeState } from './purge.ts'

/** Work in flight whose result will be stored: a render or a data fetch. The same process begins and ends it. */
export interface Fill {
  /** Number of the last purge known when it began; stored with the entry. */
  readonly seq: number
}

/** A purge that is remembered. */
interface KeptPurge {
  readonly purge: Purge
  readonly isMatch: PurgeMatcher
}

/** Past this many kept purges the oldest is forgotten, and fills older than it are not stored. */
const MAX_KEPT = 10_000

/**
 * The purges of the instance as one process knows them, so that nothing made before a purge is stored or served after it. A
 * purge is kept until it is settled and no older fill is in flight. Numbers are compared, never clocks. One per process.
 */
export class PurgeLedger {
  readonly #maxKept: number
  /** By number. */
  #kept: KeptPurge[] = []
  /** By number. The master settles one purge before it begins the next, so there are few. */
  #unsettled: KeptPurge[] = []
  /** Number of fills in flight, by `seq`; the oldest `seq` first, since numbers only grow. */
  readonly #open = new Map<number, number>()
  #last: number
  /** Fills in flight with a smaller `seq` must not be stored; 0 when there is none. */
  #floor = 0

  /** @param maxKept how many purges are kept for fills in flight */
  constructor(state: PurgeState = { last: 0, unsettled: [] }, maxKept = MAX_KEPT) {
    this.#last = state.last
    this.#maxKept = maxKept
    for (const purge of state.unsettled) this.add(purge)
  }

  /** Number of the last purge. */
  get last(): number {
    return this.#last
  }

  /** True if the cache that the instances share may have entries that a purge has taken. */
  get isSharedCacheClosed(): boolean {
    return this.#unsettled.some(({ purge }) => purge.closesSharedCache === true)
  }

  /** How many purges are remembered. */
  get kept(): number {
    return this.#kept.length
  }

  /** Begins a fill; every one must be ended. */
  begin(): Fill {
    const seq = this.#last
    this.#open.set(seq, (this.#open.get(seq) ?? 0) + 1)
    return { seq }
  }

  /** Ends a fill: once, whether it was stored or not. */
  end({ seq }: Fill): void {
    const others = (this.#open.get(seq) ?? 0) - 1
    if (others > 0) this.#open.set(seq, others)
    else this.#open.delete(seq)
    this.#forget()
  }

  /** A purge has been ordered. A number that is known already changes nothing. */
  add(purge: Purge): void {
    if (purge.number <= this.#last && this.#kept.some((known) => known.purge.number === purge.number)) return
    const kept = { purge, isMatch: purgeMatcher(purge) }
    insert(this.#kept, kept)
    insert(this.#unsettled, kept)
    this.#last = Math.max(this.#last, purge.number)
    if (this.#kept.length <= this.#maxKept) return
    const oldest = this.#kept.shift()
    this.#floor = Math.max(this.#floor, oldest?.purge.number ?? 0)
  }

  /** The shared stores hold nothing any more that this purge takes. */
  settled(number: number): void {
    this.#unsettled = this.#unsettled.filter(({ purge }) => purge.number !== number)
    this.#forget()
  }

  /**
   * Takes over the state of the master. Missed purges are known only by their numbers: fills in flight that are older
   * than those lose the right to be stored.
   */
  reset(state: PurgeState): void {
    if (state.last > this.#last) this.#floor = state.last
    this.#unsettled = this.#unsettled.filter(({ purge }) => purge.number > state.last)
    this.#last = Math.max(this.#last, state.last)
    for (const purge of state.unsettled) this.#restore(purge)
    this.#forget()
  }

  /**
   * True if a fill may be stored: no purge since it began takes the entry.
   * @param layer where it would be stored; L0 loses what any deeper layer loses
   */
  mayStore({ seq }: Fill, entry: Purgeable, layer: PurgeLayer = 'isr'): boolean {
    return this.#isUntaken(seq, Number.POSITIVE_INFINITY, entry, layer)
  }

  /**
   * True if a waiting request may share the result of this fill, though it may not be stored: no purge covers it that
   * was known when that request came.
   * @param requestSeq number of the last purge at that time
   */
  mayGive({ seq }: Fill, entry: Purgeable, requestSeq: number): boolean {
    return this.#isUntaken(seq, requestSeq, entry, 'isr')
  }

  /** True if no purge after `since`, up to `until`, takes an entry. */
  #isUntaken(since: number, until: number, entry: Purgeable, layer: PurgeLayer): boolean {
    if (since < this.#floor) return false
    for (let i = this.#kept.length - 1; i >= 0; i--) {
      const kept = this.#kept[i]
      if (kept === undefined || kept.purge.number <= since) return true
      if (kept.purge.number > until) continue
      if (touchesLayer(kept.purge, layer) && kept.isMatch(entry)) return false
    }
    return true
  }

  /**
   * True if an entry of a shared store may be used: no unsettled purge drops it. One that only marks entries as stale leaves
   * them usable, but nothing that would forget the mark (L0) may be made of them.
   * @param seq that of the fill which made the entry
   */
  mayServe(seq: number, entry: Purgeable, layer: PurgeLayer = 'isr'): boolean {
    if (this.#unsettled.length === 0) return true
    return !this.#unsettled.some(({ purge, isMatch }) => {
      const isTaken = purge.mode === 'drop' || layer === 'l0'
      return isTaken && purge.number > seq && touchesLayer(purge, layer) && isMatch(entry)
    })
  }

  #restore(purge: Purge): void {
    const known = this.#kept.find((kept) => kept.purge.number === purge.number)
    if (known === undefined) this.add(purge)
    else if (!this.#unsettled.includes(known)) insert(this.#unsettled, known)
  }

  /** Drops settled purges that are older than every fill in flight. */
  #forget(): void {
    const oldest = this.#open.keys().next().value ?? this.#last
    // Entries of the store may be older than any fill: purged ones are no longer there.
    if (oldest >= this.#floor) this.#floor = 0
    if (this.#kept.length === 0) return
    if ((this.#kept[0]?.purge.number ?? 0) > oldest) return
    this.#kept = this.#kept.filter((kept) => kept.purge.number > oldest || this.#unsettled.includes(kept))
  }
}

/** Purges arrive in the order of their numbers, or nearly so. */
function insert(list: KeptPurge[], kept: KeptPurge): void {
  let at = list.length
  while (at > 0 && (list[at - 1]?.purge.number ?? 0) > kept.purge.number) at--
  list.splice(at, 0, kept)
}
