import type { LeaseDesk, PassMemory, ProxyEntry, ProxyStore, PurgeLedger, StoredEntry } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'
import type { Origin, OriginRequest } from '@svc/upstream'
import type { CacheAsk, CacheClient, ProxyStatus } from './cache-ask.ts'

/** What flights work with. */
export interface FlightParts {
  readonly store: ProxyStore
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  readonly metrics: CacheMetrics
  readonly clock: Clock
  /** Keys whose last answer could not be stored. */
  readonly passes: PassMemory
  readonly onProblem: (error: Error) => void
}

/** What a flight is begun with. */
export interface FlightStart {
  readonly ask: CacheAsk
  readonly origin: Origin
  readonly request: OriginRequest
  /** Where the answer to such a request lies, as far as is known. */
  readonly key: string
  /** A stored response that is to be validated. */
  readonly stale: ProxyEntry | undefined
  /** Whether others may join, and other workers wait. */
  readonly isShared: boolean
  /** Why the request is sent on. */
  readonly reason: ProxyStatus['outcome']
}

/** What a flight asks of the cache that it belongs to. */
export interface FlightOwner {
  /** Looks for an answer once more, for somebody whom this flight could not serve. */
  again(client: CacheClient): void
  /** Sends the request of a client on by itself. */
  pass(client: CacheClient, detail: string | undefined): void
  /** Answers from an entry. */
  serve(client: CacheClient, served: ServedEntry): void
  /** Nobody may join the flight any more. */
  closed(): void
}

/** An entry that answers, and how it came to that. */
export interface ServedEntry {
  readonly key: string
  readonly entry: StoredEntry
  readonly how: 'hit' | 'stale' | 'validated' | 'instead'
  readonly isCollapsed: boolean
}
