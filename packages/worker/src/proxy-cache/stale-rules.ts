import { type EntryFacts, freshnessOf, responseDirectives } from '@svc/cache'
import { codeOf } from '@svc/core'
import type { StaleRules } from './cache-client.ts'

/** The word of `proxy_cache_use_stale` that an error of an upstream falls under. */
function wordOfError(error: Error): string {
  switch (codeOf(error)) {
    case 'UPSTREAM_TIMEOUT':
      return 'timeout'
    case 'UPSTREAM_BAD_ANSWER':
      return 'invalid_header'
    default:
      return 'error'
  }
}

/** The word that a status falls under. */
function wordOfStatus(status: number): string {
  return `http_${status}`
}

/** Statuses that count as failures of an upstream for stale-if-error (RFC 5861 section 4). */
const ERROR_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504])

/** True if a stale response may be used in place of a response with this status. */
export function mayReplaceStatus(entry: EntryFacts, status: number, rules: StaleRules, now: number): boolean {
  if (isForbidden(entry)) return false
  return rules.has(wordOfStatus(status)) || (ERROR_STATUSES.has(status) && isWithinErrorTime(entry, now))
}

/** True if a stale response may be used in place of a response that did not come. */
export function mayReplaceFailure(entry: EntryFacts, error: Error, rules: StaleRules, now: number): boolean {
  if (isForbidden(entry)) return false
  return rules.has(wordOfError(error)) || isWithinErrorTime(entry, now)
}

/** True if a stale response may be used at once while it is refreshed. */
export function mayServeStale(entry: EntryFacts, now: number): boolean {
  return freshnessOf(entry, now) === 'stale' && !isForbidden(entry)
}

/** True if clients that come while another request is in flight get the stale response (`updating`). */
export function mayServeWhileUpdating(entry: EntryFacts, rules: StaleRules): boolean {
  return rules.has('updating') && !isForbidden(entry)
}

/** must-revalidate and similar directives override all others (RFC 9111 section 4.2.4). */
function isForbidden({ headers }: EntryFacts): boolean {
  return responseDirectives(headers).forbidsStale
}

function isWithinErrorTime({ headers, createdAt, ttlMs }: EntryFacts, now: number): boolean {
  const { staleIfError } = responseDirectives(headers)
  return staleIfError > 0 && now < createdAt + (ttlMs ?? 0) + staleIfError * 1000
}
