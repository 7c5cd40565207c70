import { RecentWeakMap } from '@svc/core'
import type { HeaderList, HttpRequest, ResponseHead } from '@svc/http'

const NAME = 'cache-status'

/** Why L0 did not answer a request that went through the pipeline. */
export function l0Status(request: Pick<HttpRequest, 'method' | 'header'>): string {
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
export function withCacheStatus(head: ResponseHead, members: readonly string[]): ResponseHead {
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

/** The outcome of a cache, as one word for the access log: `svc-isr; fwd=stale; stored` is "isr-stale". */
export function cacheWord(member: string): string {
  const [cache = '', outcome = ''] = member.split(';', 2)
  return `${cache.trim().replace(/^svc-/, '')}-${outcome
    .trim()
    .replace(/^fwd=/, '')
    .replace(/^uri-miss$/, 'miss')}`
}
