import type { HeaderList, ResponseHead } from '@svc/http'
import { CONNECTION_FIELDS, parseCacheControl } from '@svc/http'
import { firstField, joinedField } from './field-list.ts'
import { type ExchangeTimes, initialAgeMs, type Lifetime, lifetimeOf } from './lifetime.ts'
import { type ResponseDirectives, responseDirectives } from './response-directives.ts'
import { varyFields } from './vary.ts'

/** A head that is longer than this is not stored. */
const MAX_HEAD_CHARS = 64 << 10
/** Statuses whose meaning for caches is known here: `must-understand` allows these alone. */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 421, 451, 500, 501, 502, 503, 504,
])

/** Fields that belong to a connection or to a proxy (RFC 9111 section 3.1), or are generated at each delivery. */
const NOT_STORED: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS,
  'age',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
])

/** The parts of a request that decide if its response may be stored. */
interface AskingRequest {
  readonly method: string
  readonly headers: HeaderList
}

/** How a response may be kept. Times in milliseconds. */
export interface Storing {
  /** When the response was made, as this machine's clock would have said. */
  readonly createdAt: number
  readonly ttlMs: number
  /** Time after that during which it may be used while it is refreshed. */
  readonly swrMs: number
  readonly vary: readonly string[]
  /** Fields to keep. */
  readonly headers: HeaderList
}

/** Why a response is not kept, as a word for people. */
export interface Refusal {
  readonly refused: string
}

/** The inputs of the decision once a response has arrived. */
interface StorableQuestion extends ExchangeTimes {
  readonly request: AskingRequest
  readonly head: ResponseHead
  /** Lifetime from `proxy_cache_valid` for its status, in seconds. */
  readonly ruleSeconds: number | undefined
  /** Lower case: fields of the response that are stored with it and do not count. @default none */
  readonly ignoredFields?: ReadonlySet<string>
}

/** Decides whether a shared cache may keep a response (RFC 9111 section 3), and for how long. */
export function storingOf(question: StorableQuestion): Storing | Refusal {
  const { request, receivedAt, ruleSeconds } = question
  const head = withoutFields(question.head, question.ignoredFields)
  const directives = responseDirectives(head.headers)
  const refused = refusalOf(request, head, directives)
  if (refused !== undefined) return { refused }
  const vary = varyFields(head.headers)
  if (vary === '*') return { refused: 'vary' }
  const lifetime = lifetimeOf(head, directives, receivedAt, ruleSeconds)
  const ageMs = initialAgeMs(head.headers, question)
  // An unknown age makes the response stale, and says nothing about its creation time.
  const isAgeKnown = Number.isFinite(ageMs)
  const ttlMs = isAgeKnown ? lifetime.ms : 0
  const createdAt = receivedAt - (isAgeKnown ? ageMs : 0)
  const isFresh = createdAt + ttlMs > receivedAt
  const swrMs = directives.forbidsStale ? 0 : directives.staleWhileRevalidate * 1000
  const errorMs = directives.forbidsStale ? 0 : directives.staleIfError * 1000
  const isForOne = isCookied(request) && !vary.includes('cookie')
  if (isForOne && isUnsaid(directives, lifetime)) return { refused: 'cookies' }
  if (!isFresh && swrMs === 0 && errorMs === 0 && !canBeValidated(head.headers)) return { refused: 'no-lifetime' }
  return { createdAt, ttlMs, swrMs, vary, headers: storedFields(question.head.headers) }
}

function withoutFields(head: ResponseHead, ignored: ReadonlySet<string> | undefined): ResponseHead {
  if (ignored === undefined || ignored.size === 0) return head
  return { status: head.status, headers: head.headers.filter(([name]) => !ignored.has(name.toLowerCase())) }
}

/** Fields of a response without those that are not kept. */
export function storedFields(headers: HeaderList): HeaderList {
  return headers.filter(([name]) => !NOT_STORED.has(name.toLowerCase()))
}

/** True if a response with these fields may be given to a request with those, though it was made for another one (RFC 9111 section 3.5). */
export function mayBeShared(response: HeaderList, request: HeaderList): boolean {
  return firstField(request, 'authorization') === undefined || responseDirectives(response).allowsShared
}

function refusalOf({ method, headers }: AskingRequest, head: ResponseHead, directives: ResponseDirectives): string | undefined {
  const { status } = head
  if (method !== 'GET') return 'method'
  if (status < 200 || status === 206 || status === 304) return 'status'
  if (directives.mustUnderstand && !UNDERSTOOD.has(status)) return 'status'
  if (directives.noStore && !directives.mustUnderstand) return 'no-store'
  if (directives.isPrivate) return 'private'
  if (!mayBeShared(head.headers, headers)) return 'authorization'
  if (firstField(head.headers, 'set-cookie') !== undefined) return 'set-cookie'
  if (parseCacheControl(joinedField(headers, 'cache-control')).noStore) return 'request'
  return headChars(head) > MAX_HEAD_CHARS ? 'head' : undefined
}

function isCookied({ headers }: AskingRequest): boolean {
  return firstField(headers, 'cookie') !== undefined
}

/**
 * True if no directive allows sharing the response: a response made for a cookie may then be for one client alone, and would be
 * given to others on a guess, or once its upstream is down.
 */
function isUnsaid(directives: ResponseDirectives, { ms, source }: Lifetime): boolean {
  if (directives.isPublic || directives.forbidsStale) return false
  if (source === 'none' || source === 'guess') return true
  return ms === 0 && directives.staleWhileRevalidate === 0 && directives.staleIfError === 0
}

/** True if there is anything to validate a stored response by. */
export function canBeValidated(headers: HeaderList): boolean {
  return firstField(headers, 'etag') !== undefined || firstField(headers, 'last-modified') !== undefined
}

function headChars({ headers }: ResponseHead): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
}
