import type { Clock } from '@svc/core'
import { AccessTimes } from './access-times.ts'
import type { Databases } from './databases.ts'
import { Maintenance } from './maintenance.ts'
import { PutQueue } from './put-queue.ts'
import { Space, stepBytesFor } from './space.ts'

/** What a process did with the store since it opened it. */
export interface StoreStats {
  /** Writes that were lost: a full disk, a full store, damage. */
  lostWrites: number
  /** Reads that failed and were misses therefore. */
  failedReads: number
}

export interface StoreParts {
  readonly databases: Databases
  readonly access: AccessTimes
  readonly maintenance: Maintenance
  readonly queue: PutQueue
}

export interface PartsOptions {
  readonly maxEntries: number
  readonly maxBytes: number
  readonly graceMs: number
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

/** Puts together what works on open databases. */
export function partsOf(databases: Databases, options: PartsOptions): StoreParts {
  const { maxEntries, maxBytes, graceMs, clock, onFailure } = options
  const maintenance = new Maintenance({
    databases,
    space: new Space(databases, maxBytes, clock),
    bounds: { maxEntries, maxBytes },
    now: () => clock.now(),
  })
  const queue = new PutQueue({ databases, maintenance, stepBytes: stepBytesFor(maxBytes), graceMs, clock, onFailure })
  return { databases, access: new AccessTimes(databases, clock), maintenance, queue }
}
