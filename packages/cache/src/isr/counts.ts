import type { Databases } from './databases.ts'

const KEY = Buffer.from('counts')

/** How much a store holds, and how much of it is keyed by a query. Purged entries count no more. */
export interface Counts {
  entries: number
  /** Bytes of facts and bodies. */
  bytes: number
  queryEntries: number
  queryBytes: number
  /** How many have given way to others since the store was begun. */
  evictions: number
  /** The last stamp given to an access: see `nextStamp`. */
  lastStamp: number
}

/** Reads the counters: inside a transaction those of the transaction, else the last committed. */
export function readCounts({ counters }: Databases): Counts {
  const bytes = counters.getBinary(KEY)
  if (bytes === undefined) return { entries: 0, bytes: 0, queryEntries: 0, queryBytes: 0, evictions: 0, lastStamp: 0 }
  const at = (index: number) => bytes.readDoubleLE(index * 8)
  return { entries: at(0), bytes: at(1), queryEntries: at(2), queryBytes: at(3), evictions: at(4), lastStamp: at(5) }
}

/** Writes the counters; only inside a transaction. */
export function writeCounts({ counters }: Databases, counts: Counts): void {
  const bytes = Buffer.alloc(48)
  const values = [counts.entries, counts.bytes, counts.queryEntries, counts.queryBytes, counts.evictions, counts.lastStamp]
  values.forEach((value, index) => {
    bytes.writeDoubleLE(value, index * 8)
  })
  counters.putSync(KEY, bytes)
}
