import {
  type CacheStore,
  type Freshness,
  freshnessOf,
  type LeaseDesk,
  type PassMemory,
  type PurgeLedger,
  type RepeatedKeys,
  type StoredEntry,
} from '@svc/cache'
import type { Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'
import type { Renderer } from '../render-client/renderer.ts'
import { keyOf, NARROW, type PageAddress } from './page-address.ts'
import type { PageEntries } from './page-entries.ts'
import type { SharedBodies } from './shared-bodies.ts'

/** The store as a worker uses it: shared with all processes of the instance. */
interface SharedStore extends CacheStore {
  /** Reads after this call see all that any process has committed before it. */
  refresh(): void
}

/** The services that the parts of the cache share. */
export interface IsrParts {
  readonly store: SharedStore
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  readonly renderer: Renderer
  readonly metrics: CacheMetrics
  readonly clock: Clock
  readonly entries: PageEntries
  readonly passes: PassMemory
  readonly bodies: SharedBodies
  /** Tells the second request for a key from the first. */
  readonly admission: RepeatedKeys
  readonly onProblem: (error: Error) => void
}

/** An entry that may be used, and its freshness. */
export interface Found {
  readonly entry: StoredEntry
  readonly freshness: Freshness
}

/** Looks an entry up; one that a purge is about to take is a miss. */
export function lookUp({ store, ledger, clock }: IsrParts, key: string): Found | undefined {
  const entry = store.get(key)
  if (entry === undefined || !ledger.mayServe(entry.seq, entry)) return undefined
  return { entry, freshness: freshnessOf(entry, clock.now()) }
}

/** The key of an address, by the variance that is known of its path now. */
export function keyNow({ store }: IsrParts, address: PageAddress): string {
  return keyOf(address, store.variance(address.label, address.path) ?? NARROW)
}
