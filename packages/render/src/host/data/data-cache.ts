import {
  type CacheStore,
  dataKey,
  type EntryFacts,
  type FillEnd,
  freshnessOf,
  fullTag,
  MAX_ENTRY_TAGS,
  type Purgeable,
  type PurgeLedger,
  pathTag,
  type SharedCache,
  type StoredEntry,
} from '@svc/cache'
import { type Clock, ReplyWithBytes } from '@svc/core'
import type { DataCounts } from '@svc/telemetry'
import type { DataQuestion, DataReply, FillOutcome } from '../../contract/data-methods.ts'
import { DataFills } from './data-fills.ts'
import { dataFacts, type PathPurges } from './path-purges.ts'

/** The part of the store that the data cache uses. */
export type DataStore = Pick<CacheStore, 'get' | 'put'> & {
  /** Reads from now on see all commits. */
  refresh(): void
  /** Notes that an entry was used. */
  touch(key: string): void
}

/** The caller: one thread of a site. */
export interface DataAsker {
  /** Label of the site, as the host knows it. */
  readonly label: string
  /** Stands for the thread: its fills end with it. */
  readonly owner: object
  /** How long it may take to make an entry. */
  readonly timeoutMs: number
  /** How long stale entries are served. */
  readonly swrMs: number
  /** True: nothing of the cache is for it now. */
  readonly isAhead?: () => boolean
}

/** Options of the data cache. */
interface DataCacheOptions {
  /** Undefined: there is none, and everything passes. */
  readonly store: () => DataStore | undefined
  readonly ledger: PurgeLedger
  readonly pathPurges: PathPurges
  /** The cache that instances share; undefined: there is none at the moment. */
  readonly shared: () => Pick<SharedCache, 'look' | 'share'> | undefined
  readonly counts: DataCounts
  readonly clock: Clock
}

/** A larger result is not stored. */
const MAX_DATA_BYTES = 2 * 1024 * 1024
const MAX_TAG_CHARS = 256

/** How the ends of fills that threads report end the shared fill. */
const FILL_ENDS = {
  pass: { kind: 'pass', detail: 'thread' },
  failed: { kind: 'failed', error: undefined },
  lost: { kind: 'lost' },
} as const satisfies Record<FillOutcome, FillEnd>

type Reply = DataReply | ReplyWithBytes<DataReply>

/** Leaves out invalid tags: they come from code in an isolate. One more than an entry may have shows that there are too many. */
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
  readonly #fills: DataFills

  constructor(options: DataCacheOptions) {
    this.#options = options
    this.#fills = new DataFills(options.ledger, options.clock)
  }

  /** How many entries are being produced. */
  get fills(): number {
    return this.#fills.size
  }

  /** Looks an entry up, or waits for the thread that produces it. Never rejects. */
  async read(asker: DataAsker, question: DataQuestion): Promise<Reply> {
    const reply = await this.#look(asker, question)
    // The other modes do not ask for the data, but for the right to produce it.
    if (question.mode === 'read') this.#options.counts[reply instanceof ReplyWithBytes ? 'hits' : 'misses'].value++
    return reply
  }

  async #look(asker: DataAsker, question: DataQuestion): Promise<Reply> {
    const store = this.#options.store()
    if (store === undefined || asker.isAhead?.() === true) return { kind: 'pass' }
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
        return this.#hit(key, found, asker, freshness === 'stale' && !this.#fills.isPaused(key))
      }
      if (question.mode === 'refresh' && freshness === 'fresh') return { kind: 'pass' }
      const fill = this.#fills.joinable(key, entry)?.shared
      if (fill === undefined || this.#isTakenFromPlace(asker, question, fill.seq)) {
        return this.#produce(store, key, entry, asker, question)
      }
      if (question.mode === 'refresh' || question.cameBack === true) return { kind: 'pass' }
      const { kind } = await fill.ended
      if (kind === 'pass') return { kind: 'pass' }
      store.refresh()
      // A stale entry is better than one more failure for each who waits.
      const stale = kind === 'failed' ? this.#found(store, key, asker, question) : undefined
      if (stale !== undefined) return this.#hit(key, stale, asker, false)
      if (kind === 'failed') return { kind: 'pass' }
    }
  }

  /**
   * Stores the result of a fill, unless a purge overtook it.
   * @returns whether it was stored
   */
  async store(
    asker: DataAsker,
    fill: number,
    made: { tags: readonly string[]; ttlMs: number | null },
    body: Uint8Array,
  ): Promise<boolean> {
    const found = this.#fills.find(fill, asker.owner)
    const store = this.#options.store()
    if (found === undefined) return false
    const { entry, shared } = found
    const { label, swrMs } = asker
    const tags = new Set([...entry.tags, ...checkedTags(made.tags).map((name) => fullTag(label, name))])
    const { seq } = shared
    const createdAt = this.#options.clock.now()
    // The key may come from the path of the page, which clients make up: a newcomer like the page, until it is read.
    const facts = dataFacts({ label, tags: [...tags], createdAt, ttlMs: made.ttlMs, swrMs, seq, isNewcomer: true })
    let isStored = false
    // Those who wait for a result that a purge has overtaken produce their own.
    if (!shared.mayStore(facts)) shared.end({ kind: 'lost' })
    else {
      isStored = store !== undefined && isWithinBounds(facts, body) && (await store.put(shared.key, facts, body))
      if (isStored && found.right !== undefined) this.#options.shared()?.share(found.right, shared.key)
      shared.end(isStored ? { kind: 'stored' } : { kind: 'pass', detail: 'size' })
    }
    return isStored
  }

  endFill(asker: DataAsker, fill: number, outcome: FillOutcome): void {
    this.#fills.find(fill, asker.owner)?.shared.end(FILL_ENDS[outcome])
  }

  /** A thread has ended. */
  ownerGone(owner: object): void {
    this.#fills.ownerGone(owner)
  }

  #found(store: DataStore, key: string, asker: DataAsker, question: DataQuestion): StoredEntry | undefined {
    const found = store.get(key)
    if (found?.kind !== 'data' || !this.#options.ledger.mayServe(found.seq, found)) return undefined
    return this.#isTakenFromPlace(asker, question, found.seq) ? undefined : found
  }

  /** True if the requesting path was purged since: data is not tagged with the pages that use it. */
  #isTakenFromPlace({ label }: DataAsker, { place }: DataQuestion, seq: number): boolean {
    return place !== undefined && this.#options.pathPurges.takes(label, place, seq)
  }

  /** By the lifetime that the caller wants. An entry that a purge marked stale is produced again at once. */
  #freshness(found: StoredEntry, { swrMs }: DataAsker, { ttlMs }: DataQuestion): 'fresh' | 'stale' | 'expired' {
    if (found.isMarkedStale) return 'expired'
    return freshnessOf({ createdAt: found.createdAt, ttlMs, swrMs, isMarkedStale: false }, this.#options.clock.now())
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

  /** Takes the entry that another instance has made, or has the caller make it. */
  async #produce(store: DataStore, key: string, entry: Purgeable, asker: DataAsker, question: DataQuestion): Promise<Reply> {
    const { owner, timeoutMs } = asker
    const isRefresh = question.mode === 'refresh'
    if (this.#fills.hasTooMany(owner)) return { kind: 'pass' }
    const fill = this.#fills.open({ key, entry, owner, timeoutMs, isRefresh })
    const shared = this.#options.shared()
    if (shared !== undefined) {
      const before = this.#found(store, key, asker, question)?.createdAt ?? 0
      const entered = await shared.look(key, this.#wanted(before, entry, asker, question))
      if (entered.kind === 'fill') fill.right = entered.right
      store.refresh()
      const found = this.#found(store, key, asker, question)
      if (found !== undefined && found.createdAt > before && this.#freshness(found, asker, question) === 'fresh') {
        fill.shared.end({ kind: 'stored' })
        this.#addTags(store, key, found, entry.tags)
        return isRefresh ? { kind: 'pass' } : this.#hit(key, found, asker, false)
      }
    }
    return { kind: 'fill', fill: fill.id }
  }

  /** An entry that is newer than the one here, fresh to the caller, and made after the last purge of the caller's page. */
  #wanted(before: number, { tags }: Purgeable, { label }: DataAsker, { ttlMs, place }: DataQuestion) {
    const oldest = ttlMs === null ? 0 : this.#options.clock.now() - ttlMs
    const ofPlace = place === undefined ? [] : [pathTag(label, place.path), fullTag(label, place.pattern)]
    return { createdAfter: Math.max(before, oldest), tags: [...tags, ...ofPlace] }
  }
}
