import type { Databases } from './databases.ts'

const KEY = Buffer.from('counts')

/** How much a store holds, and how much of it is keyed by a query. Purged entries count no more. */
export interface Counts {
  entries: number
  /** Bytes of facts and bodies. */
  bytes: number
  queryEntries: number
  queryBytes: number
  /** Number of evictions since the store was created. */
  evictions: number
  /** The last stamp given to an access: see `nextStamp`. */
  lastStamp: number
  /** The last number given to a label. */
  lastLabel: number
}

const FIELDS = [
  'entries',
  'bytes',
  'queryEntries',
  'queryBytes',
  'evictions',
  'lastStamp',
  'lastLabel',
] as const satisfies readonly (keyof Counts)[]

/** Reads the counters: inside a transaction those of the transaction, else the last committed. */
export function readCounts({ counters }: Databases): Counts {
  const bytes = counters.getBinary(KEY)
  const counts: Counts = { entries: 0, bytes: 0, queryEntries: 0, queryBytes: 0, evictions: 0, lastStamp: 0, lastLabel: 0 }
  if (bytes === undefined) return counts
  FIELDS.forEach((field, index) => {
    counts[field] = bytes.readDoubleLE(index * 8)
  })
  return counts
}

/** Writes the counters; only inside a transaction. */
export function writeCounts({ counters }: Databases, counts: Counts): void {
  const bytes = Buffer.alloc(FIELDS.length * 8)
  FIELDS.forEach((field, index) => {
    bytes.writeDoubleLE(counts[field], index * 8)
  })
  counters.putSync(KEY, bytes)
}
