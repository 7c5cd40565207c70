import type { Counts } from './counts.ts'
import type { NewEntry } from './entry-codec.ts'
import type { Dimension } from './usage.ts'

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
