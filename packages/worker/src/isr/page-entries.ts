import { hash } from 'node:crypto'
import {
  type CacheStore,
  type Fill,
  type PurgeLedger,
  pathTag,
  type RepeatedKeys,
  type StoredEntry,
  type Variance,
} from '@svc/cache'
import type { Clock } from '@svc/core'
import { formatHttpDate, type HeaderList, isEngineField, type ResponseHead } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import { isOfDynamicRoute, isOpenEnded, isWider, keyOf, NARROW, type PageAddress, purgeableOf, union } from './page-address.ts'
import { type DefaultLifetime, type Storability, storabilityOf } from './storability.ts'

interface PageEntriesOptions {
  readonly store: CacheStore
  readonly ledger: PurgeLedger
  readonly admission: RepeatedKeys
  readonly clock: Clock
}

/** A response that has been made whole. */
export interface Made {
  readonly head: ResponseHead
  readonly facts: CacheFacts | undefined
  readonly body: Buffer
}

/** A response that may be stored for others, ready to be stored and to be sent. */
export interface PageEntry {
  readonly verdict: 'store'
  readonly address: PageAddress
  /** The inputs of the key, with the variance record of the path. */
  readonly variance: Variance
  readonly key: string
  readonly entry: StoredEntry
}

export type PageVerdict = PageEntry | Exclude<Storability, { verdict: 'store' }>

/** Turns responses into entries of the store. */
export class PageEntries {
  readonly #options: PageEntriesOptions

  constructor(options: PageEntriesOptions) {
    this.#options = options
  }

  /** Decides if the response of a fill may be stored, and which requests it fits. */
  judge(made: Made, address: PageAddress, defaults: DefaultLifetime, fill: Fill): PageVerdict {
    const { head, facts, body } = made
    const decision = storabilityOf({ ...head, facts }, address, defaults)
    if (decision.verdict !== 'store') return decision
    const known = this.#options.store.variance(address.label, address.path)
    const variance = known === undefined || known.isOutdated ? decision.reads : union(known, decision.reads)
    const createdAt = this.#options.clock.now()
    const entry: StoredEntry = {
      kind: 'response',
      ...purgeableOf(address, variance, facts?.tags ?? []),
      isQueryKeyed: isOpenEnded(address, variance, head.status),
      createdAt,
      ttlMs: decision.ttlMs,
      swrMs: decision.swrMs,
      isMarkedStale: false,
      seq: fill.seq,
      status: head.status,
      headers: storedHeaders(head.headers, body, createdAt),
      body,
    }
    return { verdict: 'store', address, variance, key: keyOf(address, variance), entry }
  }

  /** True if the entry is to be stored at all: one whose key clients can make up must have been requested twice. */
  isAdmitted({ entry, key }: PageEntry, fillKey: string, isRepeated: boolean): boolean {
    if (!entry.isQueryKeyed) return true
    const { admission, clock } = this.#options
    return key === fillKey ? isRepeated : admission.note(key, clock.monotonic())
  }

  /** True if no purge has come since the fill began that takes the entry. */
  isCurrent({ entry }: PageEntry, fill: Fill): boolean {
    return this.#options.ledger.mayStore(fill, entry)
  }

  /**
   * Stores a response. Resolves when every process can read it, or with the reason why it is not stored: a purge overtook it
   * (`lost`), or the store `refused` it.
   * @param isRepeated true if it was requested before
   */
  async store(pageEntry: PageEntry, fill: Fill, isRepeated: boolean): Promise<'stored' | 'lost' | 'refused'> {
    const { store } = this.#options
    const { address, variance, key, entry } = pageEntry
    const { label, path } = address
    const known = store.variance(label, path)
    // The reads of code that is not in service any more say nothing of the reads of the next render.
    const isNews = known?.isOutdated === true ? this.isCurrent(pageEntry, fill) : isWider(variance, known ?? NARROW)
    if (isNews) await store.noteReads(label, path, variance, fill.seq)
    if (!this.isCurrent(pageEntry, fill)) return 'lost'
    const { body, ...facts } = entry
    const isNewcomer = !isRepeated && isOfDynamicRoute(address)
    return (await store.put(key, { ...facts, isNewcomer }, body)) ? 'stored' : 'refused'
  }

  /** Drops the stored entry of a page, because it may not be stored any more. Resolves when it is gone. */
  async drop(key: string, { label, path }: PageAddress): Promise<void> {
    const { store } = this.#options
    const entry = store.get(key)
    if (entry === undefined) return
    const tags = [pathTag(label, path)]
    await store.purge({ number: entry.seq + 1, layers: ['isr'], scopes: [{ kind: 'tags', tags }], mode: 'drop' })
  }
}

/** The fields of a response as they are stored: with validators, without what belongs to a connection. */
function storedHeaders(headers: HeaderList, body: Buffer, createdAt: number): HeaderList {
  const kept: (readonly [name: string, value: string])[] = []
  const names = new Set<string>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (isEngineField(lower) || lower === 'age' || lower === 'cache-status') continue
    names.add(lower)
    kept.push([lower, value])
  }
  if (!names.has('etag')) kept.push(['etag', `"${hash('sha1', body, 'base64url')}"`])
  // A second back: engines renew their Date once a second, and none may be earlier than this (RFC 9110 section 8.8.2.1).
  if (!names.has('last-modified')) kept.push(['last-modified', formatHttpDate(createdAt - 1000)])
  return kept
}
