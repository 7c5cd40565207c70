import type { Databases } from './databases.ts'
import type { NewEntry } from './entry-codec.ts'
import { type Dimension, decodeNumbers, encodeNumbers } from './usage.ts'

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
  if (bytes !== undefined) return decodeNumbers(bytes, FIELDS)
  return { entries: 0, bytes: 0, queryEntries: 0, queryBytes: 0, evictions: 0, lastStamp: 0, lastLabel: 0 }
}

/** Writes the counters; only inside a transaction. */
export function writeCounts({ counters }: Databases, counts: Counts): void {
  counters.putSync(KEY, encodeNumbers(counts, FIELDS))
}

/** Entries with the query in their key take at most this share of the store. */
const QUERY_SHARE = 4
/** Larger bodies are not stored: lmdb returns values of more than 16 MiB in another form, and one would evict thousands. */
const MAX_BODY_BYTES = 15 << 20

/** How much a store may hold. */
export interface Bounds {
  readonly maxEntries: number
  /** Bytes of facts and bodies. */
  readonly maxBytes: number
}

/** Returns which bound of the store is exceeded, undefined for none. */
export function excessOf(counts: Readonly<Counts>, { maxEntries, maxBytes }: Bounds): Dimension | undefined {
  if (counts.queryEntries > Math.floor(maxEntries / QUERY_SHARE)) return 'queryEntries'
  if (counts.queryBytes > maxBytes / QUERY_SHARE) return 'queryBytes'
  if (counts.entries > maxEntries) return 'entries'
  return counts.bytes > maxBytes ? 'bytes' : undefined
}

/** True if an entry fits at all, once enough others are evicted. */
export function admits({ maxEntries, maxBytes }: Bounds, { facts, body }: NewEntry): boolean {
  const share = facts.isQueryKeyed ? QUERY_SHARE : 1
  const bytes = body.byteLength + (facts.bodyFile?.bytes ?? 0)
  return maxEntries >= share && bytes < maxBytes / share && body.byteLength <= MAX_BODY_BYTES
}
