import type { EntryFacts } from './entry.ts'

/** `fresh`: served. `stale`: served while it is refreshed. `expired`: served only if the refresh fails. */
export type Freshness = 'fresh' | 'stale' | 'expired'

type Lifetime = Pick<EntryFacts, 'createdAt' | 'ttlMs' | 'swrMs' | 'isMarkedStale'>

/** If the clock was set back by more than this, it was wrong: the age of an entry from that time is unknown. */
const MAX_AHEAD_MS = 60_000

/** How old an entry is in milliseconds; never negative, though clocks step back. */
function ageMs(entry: Lifetime, now: number): number {
  return Math.max(0, now - entry.createdAt)
}

function isOfAnotherTime({ createdAt, ttlMs }: Lifetime, now: number): boolean {
  return ttlMs !== null && createdAt - now > MAX_AHEAD_MS
}

/** Freshness of an entry at `now`, milliseconds of the wall clock. */
export function freshnessOf(entry: Lifetime, now: number): Freshness {
  if (isOfAnotherTime(entry, now)) return 'expired'
  const age = ageMs(entry, now)
  const ttlMs = entry.ttlMs ?? Number.POSITIVE_INFINITY
  if (age >= ttlMs + entry.swrMs) return 'expired'
  return age >= ttlMs || entry.isMarkedStale ? 'stale' : 'fresh'
}

/** Milliseconds for which the entry is still fresh; 0 when it is not, infinite when it stays fresh for ever. */
export function ttlLeftMs(entry: Lifetime, now: number): number {
  if (entry.isMarkedStale || isOfAnotherTime(entry, now)) return 0
  return entry.ttlMs === null ? Number.POSITIVE_INFINITY : Math.max(0, entry.ttlMs - ageMs(entry, now))
}

/** Whole seconds for the Age field (RFC 9111 section 5.1). */
export function ageSeconds(entry: Lifetime, now: number): number {
  return Math.floor(ageMs(entry, now) / 1000)
}

/** When an entry is of no use any more, not even for want of a better one: wall-clock milliseconds, null for never. */
export function deadlineOf(entry: Lifetime, graceMs: number): number | null {
  return entry.ttlMs === null ? null : entry.createdAt + entry.ttlMs + entry.swrMs + graceMs
}
