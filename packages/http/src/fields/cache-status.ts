import { isToken } from '../syntax/characters.ts'

/** Why a cache passed a request on (RFC 9211 section 2.2). */
type ForwardReason = 'bypass' | 'method' | 'uri-miss' | 'vary-miss' | 'miss' | 'request' | 'stale' | 'partial'

/** How one cache handled a request (RFC 9211). */
export interface CacheStatus {
  /** Name of the cache, e.g. "svc-isr". */
  readonly cache: string
  /** "hit": answered from the cache; else why it was not. */
  readonly outcome: 'hit' | ForwardReason
  /** Seconds of freshness left; negative for a stale response. */
  readonly ttlSeconds?: number
  /** True if the response was stored. */
  readonly isStored?: boolean
  /** True if the request was joined to another one's. */
  readonly isCollapsed?: boolean
  /** A word for people, e.g. "cookies". */
  readonly detail?: string
}

/** Writes one member of a Cache-Status field, e.g. `svc-isr; fwd=uri-miss; stored; collapsed`. */
export function cacheStatus(status: CacheStatus): string {
  let member = status.outcome === 'hit' ? `${status.cache}; hit` : `${status.cache}; fwd=${status.outcome}`
  if (status.ttlSeconds !== undefined) member += `; ttl=${Math.trunc(status.ttlSeconds)}`
  if (status.isStored) member += '; stored'
  if (status.isCollapsed) member += '; collapsed'
  if (status.detail !== undefined) member += `; detail=${asToken(status.detail) ?? quoted(status.detail)}`
  return member
}

/** A token of RFC 8941 section 3.3.4 begins with a letter. */
function asToken(text: string): string | undefined {
  return isToken(text) && /^[a-z]/i.test(text) ? text : undefined
}

/** A string of RFC 8941 section 3.3.3: printable ASCII only. */
function quoted(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
