import { type HeaderList, isDigits, parseHttpDate, type ResponseHead } from '@svc/http'
import { firstField, joinedField } from './field-list.ts'
import type { ResponseDirectives } from './response-directives.ts'

/** Statuses whose responses may be kept for a time that is guessed (RFC 9110 section 15.1). */
const HEURISTIC: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
/** Share of the time since the last change (RFC 9111 section 4.2.2). */
const HEURISTIC_SHARE = 0.1
/** Nothing is kept for longer on a guess. */
const MAX_HEURISTIC_MS = 24 * 3_600_000

/** Longer lifetimes are cut to this (RFC 9111 section 1.2.2). */
const MAX_MS = 2 ** 31 * 1000

/** When the request was sent and its response came, in milliseconds of the wall clock. */
export interface ExchangeTimes {
  readonly sentAt: number
  readonly receivedAt: number
}

/**
 * How old a response was when it came, in milliseconds (RFC 9111 section 4.2.3). An Age that is no number makes it infinitely
 * old.
 */
export function initialAgeMs(headers: HeaderList, { sentAt, receivedAt }: ExchangeTimes): number {
  const age = joinedField(headers, 'age')
  if (age !== undefined && !isDigits(age)) return Number.POSITIVE_INFINITY
  const date = parseHttpDate(firstField(headers, 'date') ?? '', receivedAt)
  // A date is a whole second: a fraction of one is not an age.
  const apparentMs = date === undefined ? 0 : Math.max(0, receivedAt - date - 999)
  const correctedMs = age === undefined ? 0 : Number(age) * 1000 + Math.max(0, receivedAt - sentAt)
  return Math.max(apparentMs, correctedMs)
}

/** Freshness lifetime of a response from its creation, and its source. */
export interface Lifetime {
  readonly ms: number
  /** `response`: its own fields. `rule`: `proxy_cache_valid`. `guess`: by its Last-Modified. `none`: unknown. */
  readonly source: 'response' | 'rule' | 'guess' | 'none'
}

/**
 * The freshness lifetime of a response (RFC 9111 section 4.2.1).
 * @param ruleSeconds lifetime from `proxy_cache_valid` for its status
 */
export function lifetimeOf(
  head: ResponseHead,
  directives: ResponseDirectives,
  receivedAt: number,
  ruleSeconds: number | undefined,
): Lifetime {
  const { headers } = head
  if (directives.noCache) return { ms: 0, source: 'response' }
  const named = accelMs(joinedField(headers, 'x-accel-expires'), receivedAt)
  if (named !== undefined) return { ms: named, source: 'response' }
  if (directives.lifetime !== undefined) return { ms: directives.lifetime * 1000, source: 'response' }
  const expires = directives.isTargeted ? undefined : joinedField(headers, 'expires')
  const date = parseHttpDate(firstField(headers, 'date') ?? '', receivedAt) ?? receivedAt
  if (expires !== undefined) {
    return { ms: Math.max(0, (parseHttpDate(expires, receivedAt) ?? 0) - date), source: 'response' }
  }
  if (ruleSeconds !== undefined) return { ms: ruleSeconds * 1000, source: 'rule' }
  const modified = parseHttpDate(firstField(headers, 'last-modified') ?? '', receivedAt)
  if (modified === undefined || !(HEURISTIC.has(head.status) || directives.isPublic)) return { ms: 0, source: 'none' }
  return { ms: Math.min(MAX_HEURISTIC_MS, Math.max(0, (date - modified) * HEURISTIC_SHARE)), source: 'guess' }
}

/** nginx's own field: seconds, or "@" and a time in seconds since the epoch. */
function accelMs(value: string | undefined, receivedAt: number): number | undefined {
  if (value === undefined) return undefined
  if (isDigits(value)) return Math.min(MAX_MS, Number(value) * 1000)
  if (!value.startsWith('@') || !isDigits(value.slice(1))) return undefined
  return Math.min(MAX_MS, Math.max(0, Number(value.slice(1)) * 1000 - receivedAt))
}
