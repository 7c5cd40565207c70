import { parseHttpDate } from './http-date.ts'

/** The representation that a request is about. */
export interface Validators {
  readonly etag: EntityTag | undefined
  /** Milliseconds since the epoch; compared in whole seconds. */
  readonly lastModifiedMs: number | undefined
}

/** The parts of a request that conditions are read from. */
interface ConditionalRequest {
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
 * Returns true if the Range of a request may be honoured: without If-Range always, else only if its validator names this very
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

/** An entity tag as it stands in a field, quotes and `W/` included: `"abc"`, `W/"abc"`. */
export type EntityTag = string

const tagPattern = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/

/** Returns true if the text is one entity tag (RFC 9110 section 8.8.3). */
export function isEntityTag(text: string): text is EntityTag {
  return tagPattern.test(text)
}

/** Returns true if two tags are equal and both strong (RFC 9110 section 8.8.3.2). */
export function equalStrongly(a: EntityTag, b: EntityTag): boolean {
  return a === b && !a.startsWith('W/')
}

/** Returns true if two tags are equal but for their weakness (RFC 9110 section 8.8.3.2). */
export function equalWeakly(a: EntityTag, b: EntityTag): boolean {
  return opaquePart(a) === opaquePart(b)
}

/** The weak form of a tag. */
export function weaken(tag: EntityTag): EntityTag {
  return tag.startsWith('W/') ? tag : `W/${tag}`
}

function opaquePart(tag: EntityTag): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}

/**
 * Parses the value of If-Match or If-None-Match: `*` or a list of tags. A comma may stand inside a tag. What follows the first
 * thing that is no tag is left out.
 */
export function parseEntityTags(value: string): readonly EntityTag[] | '*' {
  if (value.trim() === '*') return '*'
  const tags: EntityTag[] = []
  const pattern = /[\t ,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[\t ]*(?=,|$)/y
  for (let match = pattern.exec(value); match?.[1] !== undefined; match = pattern.exec(value)) tags.push(match[1])
  return tags
}
