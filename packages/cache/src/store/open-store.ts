import type { Clock } from '@svc/core'
import { AccessTimes } from './access-times.ts'
import type { Databases } from './databases.ts'
import { Maintenance } from './maintenance.ts'
import { PutQueue } from './put-queue.ts'
import { Space, stepBytesFor } from './space.ts'

/** How often the times of accesses are merged into the store. */
const ACCESS_MERGE_MS = 10_000
/** How soon a newcomer that was requested again counts as one: others push newcomers out quickly. */
const PROMOTION_MERGE_MS = 100

/** Counts of this process's use of the store since it opened it. */
export interface StoreStats {
  /** Writes that were lost: a full disk, a full store, damage. */
  lostWrites: number
  /** Reads that failed and were misses therefore. */
  failedReads: number
}

export interface StoreParts {
  readonly databases: Databases
  readonly access: AccessTimes
  /** Newcomers that were requested again. */
  readonly promotions: AccessTimes
  readonly maintenance: Maintenance
  readonly queue: PutQueue
}

interface PartsOptions {
  readonly maxEntries: number
  readonly maxBytes: number
  readonly graceMs: number
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

/** Assembles the parts that work on open databases. */
export function partsOf(databases: Databases, options: PartsOptions): StoreParts {
  const { maxEntries, maxBytes, graceMs, clock, onFailure } = options
  const maintenance = new Maintenance({
    databases,
    space: new Space(databases, maxBytes, clock),
    bounds: { maxEntries, maxBytes },
    now: () => clock.now(),
  })
  const queue = new PutQueue({ databases, maintenance, stepBytes: stepBytesFor(maxBytes), graceMs, clock, onFailure })
  const access = new AccessTimes(databases, clock, ACCESS_MERGE_MS)
  const promotions = new AccessTimes(databases, clock, PROMOTION_MERGE_MS)
  return { databases, access, promotions, maintenance, queue }
}
