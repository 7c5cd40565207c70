import type { EntryFacts, ProxyAddress } from '@svc/cache'
import type { CacheStatus, ResponseSink, ResponseSource } from '@svc/http'
import type { Origin, OriginRequest } from '@svc/upstream'

/** What the cache did for a request. */
export type ProxyStatus = Omit<CacheStatus, 'cache'>

/** What keeps an answer in L0 in step with the entry that it was made of. */
export type OfferedFacts = Pick<EntryFacts, 'createdAt' | 'ttlMs' | 'label' | 'path' | 'tags' | 'seq' | 'headers'>

/** When a stale response may stand in for an answer that did not come: words of `proxy_cache_use_stale`. */
export type StaleRules = ReadonlySet<string>

/** What a location says about its cache. */
export interface CacheRules {
  readonly useStale: StaleRules
  /** `proxy_cache_valid`, in seconds; undefined: nothing is said of this status. */
  validSeconds(status: number): number | undefined
}

/** A request as the cache sees it. */
export interface CacheAsk {
  readonly address: ProxyAddress
  readonly rules: CacheRules
  /** Nothing stored is to be used (`proxy_cache_bypass`). */
  readonly isBypassed: boolean
  /** What the upstream says is not to be kept (`proxy_no_cache`). */
  readonly isUnkept: boolean
  /** Tells what the cache did; before the head is sent. */
  report(status: ProxyStatus): void
  /** Offers the answer to L0; before the head is sent. `key`: where the store has it. */
  offer(facts: OfferedFacts, key: string): void
}

/** One client of the cache, and the source of its response until another one takes over. */
export class CacheClient implements ResponseSource {
  readonly ask: CacheAsk
  readonly request: OriginRequest
  readonly sink: ResponseSink
  readonly origin: Origin
  /** How often it has joined a flight whose answer was not for it. */
  rounds = 0
  /** Ends its wait, where something waits for it; set by whoever serves it. */
  leave: () => void = () => undefined
  isGone = false

  constructor(ask: CacheAsk, request: OriginRequest, sink: ResponseSink, origin: Origin) {
    this.ask = ask
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
    this.leave()
  }
}
