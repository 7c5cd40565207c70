import type { LeaseDesk, PassMemory, ProxyStore, PurgeLedger, StoredEntry } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { BodyBlocks } from '@svc/http'
import type { CacheMetrics } from '@svc/telemetry'

/** The services that the parts of the proxy cache share. */
export interface ProxyParts {
  readonly store: ProxyStore
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  readonly metrics: CacheMetrics
  readonly clock: Clock
  /** For bodies on their way. */
  readonly blocks: BodyBlocks
  /** Keys whose last response could not be stored. */
  readonly passes: PassMemory
  readonly onProblem: (error: Error) => void
}

/** An entry that answers a request. */
export interface ServedEntry {
  readonly key: string
  readonly entry: StoredEntry
  /** Fresh; stale while it is refreshed; validated by the upstream just now; or in place of a failure of the upstream. */
  readonly how: 'hit' | 'stale' | 'validated' | 'instead'
  readonly isCollapsed: boolean
}
