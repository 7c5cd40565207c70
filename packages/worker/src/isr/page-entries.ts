import { hash } from 'node:crypto'
import {
  type CacheStore,
  type Fill,
  type Freshness,
  freshnessOf,
  MAX_ENTRY_TAGS,
  type PurgeLedger,
  pathTag,
  type RepeatedKeys,
  type StoredEntry,
  type Variance,
} from '@svc/cache'
import type { Clock } from '@svc/core'
import { formatHttpDate, type HeaderList, isEngineField, parseCacheControl, type ResponseHead } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import { isOfDynamicRoute, isOpenEnded, isWider, keyOf, NARROW, type PageAddress, purgeableOf, union } from './page-address.ts'

/** The store as a worker uses it: shared with all processes of the instance. */
interface SharedStore extends CacheStore {
  /** Reads after this call see all that any process has committed before it. */
  refresh(): void
}

/** Gives entries to the other instances. */
export interface EntrySharing {
  /** Shares the entry that the fill of a key has stored. `reads`: the request inputs of the entry's key. Waits for nothing. */
  share(fillKey: string, key: string, reads: Variance): void
}

interface PageEntriesOptions {
  readonly store: SharedStore
  /** undefined: there are no other instances. */
  readonly sharing?: EntrySharing | undefined
  readonly ledger: PurgeLedger
  readonly admission: RepeatedKeys
  readonly clock: Clock
}

/** A whole response of a render. */
export interface RenderedResponse {
  readonly head: ResponseHead
  /** undefined: the render gave no cache settings. */
  readonly facts: CacheFacts | undefined
  readonly body: Buffer
}

/** An entry that may be used, and its freshness. */
export interface FoundEntry {
  readonly entry: StoredEntry
  readonly freshness: Freshness
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

/** The entries of pages in the store: finds them, and makes them of responses. */
export class PageEntries {
  readonly #options: PageEntriesOptions

  constructor(options: PageEntriesOptions) {
    this.#options = options
  }

  /** Looks an entry up; one that a purge is about to take is a miss. */
  find(key: string): FoundEntry | undefined {
    const { store, ledger, clock } = this.#options
    const entry = store.get(key)
    if (entry === undefined || !ledger.mayServe(entry.seq, entry)) return undefined
    return { entry, freshness: freshnessOf(entry, clock.now()) }
  }

  /** The key of an address, by the variance that is known of its path now. */
  keyOf(address: PageAddress): string {
    return keyOf(address, this.#options.store.variance(address.label, address.path) ?? NARROW)
  }

  /** Look-ups after this call see all that any process has committed before it. */
  refresh(): void {
    this.#options.store.refresh()
  }

  /** Decides if the response of a fill may be stored, and which requests it fits. */
  judge({ head, facts, body }: RenderedResponse, address: PageAddress, defaults: DefaultLifetime, fill: Fill): PageVerdict {
    const decision = storabilityOf({ head, facts }, address, defaults)
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
  async store(
    pageEntry: PageEntry,
    fill: Fill & { readonly key: string },
    isRepeated: boolean,
  ): Promise<'stored' | 'lost' | 'refused'> {
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
    if (!(await store.put(key, { ...facts, isNewcomer }, body))) return 'refused'
    this.#options.sharing?.share(fill.key, key, variance)
    return 'stored'
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

/** How long responses live that do not say. */
export interface DefaultLifetime {
  readonly ttlMs: number
  readonly swrMs: number
}

/** Says if a response may be stored and shared, and if not, why. */
export type Storability =
  | { readonly verdict: 'store'; readonly ttlMs: number | null; readonly swrMs: number; readonly reads: Variance }
  /** It is for this request alone, and the next one's will be too. `detail`: a word for people. */
  | { readonly verdict: 'pass'; readonly detail: string }
  /**
   * It tells of a failure: nothing is known of the next one. `isCommon`: it holds nothing of its request, so that those who
   * wait for it may get it too.
   */
  | { readonly verdict: 'failed'; readonly detail: string; readonly isCommon: boolean }

/** Statuses that mean the same for every client: those of RFC 9110 section 15.1, and temporary redirects. */
const STORED_STATUSES: ReadonlySet<number> = new Set([200, 203, 204, 301, 302, 303, 307, 308, 404, 410])

/** Request inputs of a page that no key holds. */
const PERSONAL_READS = ['cookies', 'headers', 'no-store'] as const

function fieldValues(headers: HeaderList, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
}

/** Why the head of a response forbids storing it, or undefined. Known before the body has come. */
export function refusalOfHead({ status, headers }: ResponseHead): string | undefined {
  if (!STORED_STATUSES.has(status)) return 'status'
  if (fieldValues(headers, 'set-cookie').length > 0) return 'set-cookie'
  const vary = fieldValues(headers, 'vary').flatMap((value) => value.split(','))
  if (vary.some((member) => member.trim() !== '' && member.trim().toLowerCase() !== 'accept-encoding')) return 'vary'
  const { isPrivate, noStore, noCache } = parseCacheControl(fieldValues(headers, 'cache-control').join(', '))
  return isPrivate || noStore || noCache ? 'cache-control' : undefined
}

/** Decides if a response may be stored, and for how long. Pure. */
export function storabilityOf(
  { head, facts }: Omit<RenderedResponse, 'body'>,
  address: PageAddress,
  defaults: DefaultLifetime,
): Storability {
  if (head.status >= 500)
    return { verdict: 'failed', detail: 'status', isCommon: facts !== undefined && facts.reads.length === 0 }
  const refusal = refusalOfHead(head)
  if (refusal !== undefined) return { verdict: 'pass', detail: refusal }
  if (facts === undefined) return { verdict: 'pass', detail: 'facts' }
  const personal = PERSONAL_READS.find((read) => facts.reads.includes(read))
  if (personal !== undefined) return { verdict: 'pass', detail: personal }
  if (facts.tags.length > MAX_ENTRY_TAGS) return { verdict: 'pass', detail: 'tags' }
  const reads = { query: facts.reads.includes('query'), host: facts.reads.includes('host') }
  // A client that sends a made-up host would decide which address the page gives as its own.
  if (reads.host && address.binding === 'unknown') return { verdict: 'pass', detail: 'host' }
  return withLifetime(facts.revalidate, address, defaults, reads)
}

function withLifetime(
  revalidate: number | false | undefined,
  { kind }: PageAddress,
  defaults: DefaultLifetime,
  reads: Variance,
): Storability {
  if (kind === 'handler' && revalidate === undefined) return { verdict: 'pass', detail: 'revalidate' }
  const ttlMs = revalidate === undefined ? defaults.ttlMs : revalidate === false ? null : revalidate * 1000
  if (ttlMs === 0) return { verdict: 'pass', detail: 'revalidate' }
  return { verdict: 'store', ttlMs, swrMs: defaults.swrMs, reads }
}
