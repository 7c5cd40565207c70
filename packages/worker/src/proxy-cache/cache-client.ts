import type { EntryFacts, ProxyAddress, StoredEntry } from '@svc/cache'
import type { CacheStatus, ResponseSink, ResponseSource } from '@svc/http'
import type { Origin, OriginRequest } from '@svc/upstream'

/** The cache outcome for a request. */
export type ProxyStatus = Omit<CacheStatus, 'cache'>

/** Value of `$upstream_cache_status`; "": the cache took no part. */
export type CacheWord = '' | 'MISS' | 'HIT' | 'EXPIRED' | 'STALE' | 'UPDATING' | 'REVALIDATED' | 'BYPASS'

/** The word for a request that was sent to the upstream, by the reason. */
export function wordOfForward(outcome: ProxyStatus['outcome']): CacheWord {
  return outcome === 'stale' ? 'EXPIRED' : outcome === 'bypass' ? 'BYPASS' : 'MISS'
}

/** The facts of an entry that keep a copy of it in L0 in step. */
export type OfferedFacts = Pick<EntryFacts, 'createdAt' | 'ttlMs' | 'label' | 'path' | 'tags' | 'seq' | 'headers'>

/** When a stale response may replace one that failed: words of `proxy_cache_use_stale`. */
export type StaleRules = ReadonlySet<string>

/** The directives of a location about its cache. */
export interface CacheRules {
  readonly useStale: StaleRules
  /** Lower case: fields of responses that do not count (`proxy_ignore_headers`). */
  readonly ignoredFields: ReadonlySet<string>
  /** How often a response must have been requested before it is stored (`proxy_cache_min_uses`). */
  readonly minUses: number
  /** True if `updating` counts for the first client too (`proxy_cache_background_update`). */
  readonly isRefreshedBehind: boolean
  /** `proxy_cache_valid`, in seconds; undefined: it does not name this status. */
  validSeconds(status: number): number | undefined
}

/** An entry that answers a request. */
export interface ServedEntry {
  readonly key: string
  readonly entry: StoredEntry
  /** Fresh; stale while it is refreshed; validated by the upstream just now; or in place of a failure of the upstream. */
  readonly how: 'hit' | 'stale' | 'validated' | 'instead'
  readonly isCollapsed: boolean
}

/** The request of a client as the cache sees it. */
export interface CacheContext {
  readonly address: ProxyAddress
  readonly rules: CacheRules
  /** Stored responses are not used (`proxy_cache_bypass`). */
  readonly isBypassed: boolean
  /** The response of the upstream is not stored (`proxy_no_cache`). */
  readonly mustNotStore: boolean
  /** Takes the outcome of the cache; before the head is sent. */
  report(status: ProxyStatus, word: CacheWord): void
  /** Offers the response to L0; before the head is sent. `key`: where the store has it. */
  offer(facts: OfferedFacts, key: string): void
}

/** One client of the cache, and the source of its response until another one takes over. */
export class CacheClient implements ResponseSource {
  readonly context: CacheContext
  readonly request: OriginRequest
  readonly sink: ResponseSink
  readonly origin: Origin
  /** How many fills it has joined whose response was not for it. */
  rounds = 0
  /** Ends its wait; set by the fill that it waits for. */
  leave: (() => void) | undefined
  isGone = false

  constructor(context: CacheContext, request: OriginRequest, sink: ResponseSink, origin: Origin) {
    this.context = context
    this.request = request
    this.sink = sink
    this.origin = origin
  }

  resume(): void {
    // Nothing has come yet.
  }

  abort(): void {
    if (this.isGone) return
    this.isGone = true
    this.leave?.()
  }
}
