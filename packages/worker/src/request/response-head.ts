import { namesSessionCookie } from '@svc/auth'
import { RecentWeakMap } from '@svc/core'
import type { ClientInfo, HeaderList, HttpRequest, ResponseHead } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'

/** The parts of a request that decide which fields each response to it gets. */
interface HeadInputs {
  readonly request: Pick<HttpRequest, 'method' | 'header'>
  readonly client: Pick<ClientInfo, 'scheme'>
  readonly generation: Pick<ServingGeneration, 'strictTransport'>
  readonly site: object | undefined
  /** "builtin": the service itself responds. */
  readonly pathGroup: string
  readonly responseHeaders: HeaderList
  readonly ruleHeaders: HeaderList
  readonly cacheStatus: string
  readonly hidesCacheStatus: boolean
}

/** Adds the fields that every response to a request has, from whatever handler. */
export function finalHead(head: ResponseHead, inputs: HeadInputs, hasL0: boolean): ResponseHead {
  const { request, site, pathGroup, responseHeaders, ruleHeaders, cacheStatus } = inputs
  const whole = withFields(withFields(withStrictTransport(head, inputs), responseHeaders), ruleHeaders)
  const extended = pathGroup === 'builtin' ? whole : withoutSessionFields(whole)
  if (site === undefined || inputs.hidesCacheStatus) return extended
  const members = cacheStatus === '' ? [] : [cacheStatus]
  if (hasL0) members.push(l0Status(request))
  return members.length === 0 ? extended : withCacheStatus(extended, members)
}

const COOKIE_FIELD = 'set-cookie'

function isSessionField([name, value]: HeaderList[number]): boolean {
  return name.length === COOKIE_FIELD.length && name.toLowerCase() === COOKIE_FIELD && namesSessionCookie(value)
}

/** The head of a site's response without fields that set or clear the cookie of administrators. The same if there are none. */
export function withoutSessionFields(head: ResponseHead): ResponseHead {
  const { status, headers } = head
  return headers.some(isSessionField) ? { status, headers: headers.filter((field) => !isSessionField(field)) } : head
}

/** The trailers of a site's response without such fields. */
export function withoutSessionTrailers(trailers: HeaderList): HeaderList {
  return trailers.filter((field) => !isSessionField(field))
}

/** RFC 6797 section 7.2: never over plain HTTP. The response's own field takes precedence. */
function withStrictTransport(head: ResponseHead, { client, generation: { strictTransport } }: HeadInputs): ResponseHead {
  if (strictTransport === undefined || client.scheme !== 'https') return head
  if (head.headers.some(([name]) => name.toLowerCase() === strictTransport[0])) return head
  return { status: head.status, headers: [...head.headers, strictTransport] }
}

/** Sets fields in place of those of the same name; cookies are added. */
function withFields(head: ResponseHead, fields: HeaderList): ResponseHead {
  if (fields.length === 0) return head
  const names = new Set(fields.map(([name]) => name.toLowerCase()))
  names.delete('set-cookie')
  const kept = head.headers.filter(([name]) => !names.has(name.toLowerCase()))
  return { status: head.status, headers: [...kept, ...fields] }
}

const NAME = 'cache-status'

/** Why L0 did not answer a request that went through the pipeline. */
function l0Status(request: Pick<HttpRequest, 'method' | 'header'>): string {
  if (request.method !== 'GET' && request.method !== 'HEAD') return 'svc-l0; fwd=method'
  return request.header('authorization') === undefined ? 'svc-l0; fwd=uri-miss' : 'svc-l0; fwd=bypass'
}

interface WithStatus {
  readonly members: string
  readonly headers: HeaderList
}

/** Results for lists that are sent again and again, which their owners freeze: the cache changes only the time it takes. */
const made = new RecentWeakMap<HeaderList, WithStatus>()

/**
 * Adds members to the Cache-Status field of a response. The cache nearest to the origin comes first (RFC 9211 section 2):
 * what an upstream said, the cache behind the pipeline, L0. There is one field afterwards.
 */
function withCacheStatus(head: ResponseHead, members: readonly string[]): ResponseHead {
  const [only] = members
  const joined = members.length === 1 && only !== undefined ? only : members.join(', ')
  const known = made.get(head.headers)
  if (known?.members === joined) return { status: head.status, headers: known.headers }
  if (!Object.isFrozen(head.headers)) return addStatus(head, members)
  const headers = Object.freeze(addStatus(head, members).headers)
  made.set(head.headers, { members: joined, headers })
  return { status: head.status, headers }
}

function addStatus(head: ResponseHead, members: readonly string[]): ResponseHead {
  const before: string[] = []
  for (const [name, value] of head.headers) if (isStatus(name)) before.push(value)
  const rest = before.length === 0 ? head.headers : head.headers.filter(([name]) => !isStatus(name))
  return { status: head.status, headers: [...rest, [NAME, [...before, ...members].join(', ')]] }
}

function isStatus(name: string): boolean {
  return name.length === NAME.length && name.toLowerCase() === NAME
}

/** The outcome of a cache, as one word for the access log: `svc-isr; fwd=stale; stored` is "isr-stale". "": no cache was queried. */
export function cacheWord(member: string): string {
  if (member === '') return ''
  const [cache = '', outcome = ''] = member.split(';', 2)
  return `${cache.trim().replace(/^svc-/, '')}-${outcome
    .trim()
    .replace(/^fwd=/, '')
    .replace(/^uri-miss$/, 'miss')}`
}
