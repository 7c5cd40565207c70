import {
  type CacheStore,
  dataKey,
  type EntryFacts,
  freshnessOf,
  fullTag,
  MAX_ENTRY_TAGS,
  type Purgeable,
  type PurgeLedger,
  type StoredEntry,
} from '@svc/cache'
import { ReplyWithBytes } from '@svc/core'
import type { DataCounts } from '@svc/telemetry'
import type { DataQuestion, DataReply, FillOutcome } from '../../thread/data/data-methods.ts'
import { dataFacts } from './data-facts.ts'
import { DataFlights, type FlightEnd } from './data-flights.ts'
import type { PathPurges } from './path-purges.ts'

/** What the data cache uses of the store. */
export type DataStore = Pick<CacheStore, 'get' | 'put'> & {
  /** Reads from now on see all commits. */
  refresh(): void
  /** Notes that an entry was used. */
  touch(key: string): void
}

/** Who asks: one thread of a site. */
export interface DataAsker {
  /** Label of the site, as the host knows it. */
  readonly label: string
  /** Stands for the thread: what it makes ends with it. */
  readonly owner: object
  /** How long it may take to make an entry. */
  readonly timeoutMs: number
  /** How long stale entries are served. */
  readonly swrMs: number
}

/** What the data cache is made of. */
export interface DataCacheOptions {
  /** Undefined: there is none, and everything passes. */
  readonly store: () => DataStore | undefined
  readonly ledger: PurgeLedger
  readonly pathPurges: PathPurges
  readonly counts: DataCounts
  /** Milliseconds of the wall clock. */
  readonly now: () => number
}

/** A larger result is not stored. */
export const MAX_DATA_BYTES = 2 * 1024 * 1024
const MAX_TAG_CHARS = 256

type Reply = DataReply | ReplyWithBytes<DataReply>

/** Tags come from code in an isolate: what is no tag is left out. One more than an entry may have tells that there are too many. */
function checkedTags(names: readonly string[]): string[] {
  const usable = names.filter((name) => name !== '' && name.length <= MAX_TAG_CHARS && !name.startsWith('/'))
  return [...new Set(usable)].slice(0, MAX_ENTRY_TAGS + 1)
}

function isWithinBounds({ tags }: EntryFacts, body: Uint8Array): boolean {
  return tags.length <= MAX_ENTRY_TAGS && body.byteLength <= MAX_DATA_BYTES
}

/** The results of `fetch` and `unstable_cache` of all sites of a host, kept in the store of the instance. */
export class DataCache {
  readonly #options: DataCacheOptions
  readonly #flights: DataFlights

  constructor(options: DataCacheOptions) {
    this.#options = options
    this.#flights = new DataFlights(options.ledger)
  }

  /** How many entries are being made. */
  get fills(): number {
    return this.#flights.size
  }

  /** Looks an entry up. Whoever finds it being made waits for it. Never rejects. */
  async read(asker: DataAsker, question: DataQuestion): Promise<Reply> {
    const reply = await this.#look(asker, question)
    // The other modes are not for who wants the data, but for who makes it.
    if (question.mode === 'read') this.#options.counts[reply instanceof ReplyWithBytes ? 'hits' : 'misses'].value++
    return reply
  }

  async #look(asker: DataAsker, question: DataQuestion): Promise<Reply> {
    const store = this.#options.store()
    if (store === undefined) return { kind: 'pass' }
    const key = dataKey(asker.label, ...question.parts)
    const entry = {
      label: asker.label,
      host: '',
      path: '',
      tags: checkedTags(question.tags).map((name) => fullTag(asker.label, name)),
    }
    for (;;) {
      const found = this.#found(store, key, asker, question)
      if (question.mode === 'fallback') return found === undefined ? { kind: 'pass' } : this.#hit(key, found, asker, false)
      const freshness = found === undefined ? 'expired' : this.#freshness(found, asker, question)
      if (question.mode === 'read' && found !== undefined && freshness !== 'expired') {
        this.#addTags(store, key, found, entry.tags)
        return this.#hit(key, found, asker, freshness === 'stale' && !this.#flights.isHeldBack(key))
      }
      if (question.mode === 'refresh' && freshness === 'fresh') return { kind: 'pass' }
      const flight = this.#flights.joinable(key, entry)
      if (flight === undefined || this.#isTakenFromPlace(asker, question, flight.fill.seq))
        return this.#open(key, entry, asker, question)
      if (question.mode === 'refresh' || question.cameBack === true) return { kind: 'pass' }
      const end = await flight.ended
      if (end === 'pass') return { kind: 'pass' }
      store.refresh()
      // What there was is better than to fail once more, one after the other.
      const kept = end === 'failed' ? this.#found(store, key, asker, question) : undefined
      if (kept !== undefined) return this.#hit(key, kept, asker, false)
      if (end === 'failed') return { kind: 'pass' }
    }
  }

  /**
   * Stores what a fill has made, unless a purge came meanwhile.
   * @returns whether it was kept
   */
  async store(
    asker: DataAsker,
    fill: number,
    made: { tags: readonly string[]; ttlMs: number | null },
    body: Uint8Array,
  ): Promise<boolean> {
    const flight = this.#flights.find(fill, asker.owner)
    const store = this.#options.store()
    if (flight === undefined) return false
    const { label, owner, swrMs } = asker
    const tags = new Set([...flight.entry.tags, ...checkedTags(made.tags).map((name) => fullTag(label, name))])
    const { seq } = flight.fill
    const createdAt = this.#options.now()
    // The key may come from the path of the page, which clients make up: a newcomer like the page, until it is read.
    const facts = dataFacts({ label, tags: [...tags], createdAt, ttlMs: made.ttlMs, swrMs, seq, isNewcomer: true })
    let end: FlightEnd = 'pass'
    // Whoever waits for a result that a purge has overtaken makes one of its own.
    if (!this.#options.ledger.mayStore(flight.fill, facts)) end = 'lost'
    else if (store !== undefined && isWithinBounds(facts, body) && (await store.put(flight.key, facts, body))) end = 'stored'
    this.#flights.end(fill, owner, end)
    return end === 'stored'
  }

  endFill(asker: DataAsker, fill: number, outcome: FillOutcome): void {
    this.#flights.end(fill, asker.owner, outcome)
  }

  /** A thread is no more. */
  ownerGone(owner: object): void {
    this.#flights.ownerGone(owner)
  }

  #found(store: DataStore, key: string, asker: DataAsker, question: DataQuestion): StoredEntry | undefined {
    const found = store.get(key)
    if (found?.kind !== 'data' || !this.#options.ledger.mayServe(found.seq, found)) return undefined
    return this.#isTakenFromPlace(asker, question, found.seq) ? undefined : found
  }

  /** Whether the path that asks was purged since: data is not tagged with the pages that use it. */
  #isTakenFromPlace({ label }: DataAsker, { place }: DataQuestion, seq: number): boolean {
    return place !== undefined && this.#options.pathPurges.takes(label, place, seq)
  }

  /** By the time that the caller wants. A mark means that somebody knows better: then it is made anew at once. */
  #freshness(found: StoredEntry, { swrMs }: DataAsker, { ttlMs }: DataQuestion): 'fresh' | 'stale' | 'expired' {
    if (found.isMarkedStale) return 'expired'
    return freshnessOf({ createdAt: found.createdAt, ttlMs, swrMs, isMarkedStale: false }, this.#options.now())
  }

  #hit(key: string, found: StoredEntry, { label }: DataAsker, isStale: boolean): Reply {
    this.#options.store()?.touch(key)
    const prefix = fullTag(label, '')
    const tags = found.tags.map((tag) => tag.slice(prefix.length))
    // Shared memory is valid in this turn only, and a copy can be moved to the thread.
    return new ReplyWithBytes({ kind: 'hit', isStale, tags }, new Uint8Array(found.body))
  }

  /** A caller with tags of its own makes them tags of the entry, so that a purge of them takes it too. */
  #addTags(store: DataStore, key: string, found: StoredEntry, tags: readonly string[]): void {
    const missing = tags.filter((tag) => !found.tags.includes(tag))
    if (missing.length === 0 || found.tags.length + missing.length > MAX_ENTRY_TAGS) return
    const { body, ...facts } = found
    const widened = { ...facts, tags: [...facts.tags, ...missing] }
    if (!this.#options.ledger.mayStore({ seq: found.seq }, widened)) return
    // A write that fails is counted by the store; the next caller tries again.
    void store.put(key, widened, new Uint8Array(body))
  }

  #open(key: string, entry: Purgeable, { owner, timeoutMs }: DataAsker, { mode }: DataQuestion): DataReply {
    if (this.#flights.hasTooMany(owner)) return { kind: 'pass' }
    const flight = this.#flights.open({ key, entry, owner, timeoutMs, isRefresh: mode === 'refresh' })
    return { kind: 'fill', fill: flight.id }
  }
}
