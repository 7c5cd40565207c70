import { type EntityTag, equalStrongly, equalWeakly, isEntityTag, parseEntityTags } from './etag.ts'
import { parseHttpDate } from './http-date.ts'

/** What is known of the representation that a request is about. */
export interface Validators {
  readonly etag: EntityTag | undefined
  /** Milliseconds since the epoch; compared in whole seconds. */
  readonly lastModifiedMs: number | undefined
}

/** The parts of a request that conditions are read from. */
export interface ConditionalRequest {
  readonly method: string
  /** First value of a field by lower-case name. */
  header(name: string): string | undefined
}

/** Go on, answer 304, or answer 412. */
export type ConditionOutcome = 'proceed' | 'not-modified' | 'precondition-failed'

/**
 * Evaluates the conditions of a request for an existing representation in the order of RFC 9110 section 13.2.2. Range and
 * If-Range come after: see `isRangeCurrent`.
 */
export function evaluateConditions(request: ConditionalRequest, validators: Validators): ConditionOutcome {
  if (isPreconditionBroken(request, validators)) return 'precondition-failed'
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const ifNoneMatch = request.header('if-none-match')
  if (ifNoneMatch !== undefined) {
    if (!matchesAny(ifNoneMatch, validators.etag, equalWeakly)) return 'proceed'
    return isRead ? 'not-modified' : 'precondition-failed'
  }
  const since = isRead ? dateField(request, 'if-modified-since') : undefined
  if (since === undefined || validators.lastModifiedMs === undefined) return 'proceed'
  return wholeSeconds(validators.lastModifiedMs) <= since ? 'not-modified' : 'proceed'
}

/**
 * Whether the Range of a request may be honoured: without If-Range always, else only if its validator names this very
 * representation (RFC 9110 section 13.1.5). A date counts only if it is strong: older than the second we are in.
 */
export function isRangeCurrent(ifRange: string | undefined, validators: Validators, nowMs: number): boolean {
  if (ifRange === undefined) return true
  if (isEntityTag(ifRange)) return validators.etag !== undefined && equalStrongly(ifRange, validators.etag)
  const date = parseHttpDate(ifRange, nowMs)
  if (date === undefined || validators.lastModifiedMs === undefined) return false
  return date === wholeSeconds(validators.lastModifiedMs) && date + 1000 <= wholeSeconds(nowMs)
}

/** If-Match, and If-Unmodified-Since only without it (RFC 9110 sections 13.1.1 and 13.1.4). */
function isPreconditionBroken(request: ConditionalRequest, validators: Validators): boolean {
  const ifMatch = request.header('if-match')
  if (ifMatch !== undefined) return !matchesAny(ifMatch, validators.etag, equalStrongly)
  const since = dateField(request, 'if-unmodified-since')
  if (since === undefined || validators.lastModifiedMs === undefined) return false
  return wholeSeconds(validators.lastModifiedMs) > since
}

function matchesAny(field: string, etag: EntityTag | undefined, areEqual: (a: EntityTag, b: EntityTag) => boolean): boolean {
  const tags = parseEntityTags(field)
  if (tags === '*') return true
  return etag !== undefined && tags.some((tag) => areEqual(tag, etag))
}

/** A date that does not parse is no condition (RFC 9110 sections 13.1.3 and 13.1.4). */
function dateField(request: ConditionalRequest, name: string): number | undefined {
  const value = request.header(name)
  return value === undefined ? undefined : parseHttpDate(value)
}

function wholeSeconds(timeMs: number): number {
  return Math.floor(timeMs / 1000) * 1000
}
