import { responseDirectives } from '@svc/cache'
import type { Config } from '@svc/config'
import { parseCookies, type ResponseHead } from '@svc/http'

/** The cookie by which a load balancer keeps a client on this instance. */
export interface Affinity {
  readonly cookieName: string
  readonly instanceId: string
}

/** The parts of a request that decide if its response sets the cookie. */
interface AffinityRequest {
  /** First value of a field by lower-case name. */
  header(name: string): string | undefined
}

/** Undefined: `scaling.session_affinity` does not want a cookie. */
export function affinityOf({ scaling }: Config): Affinity | undefined {
  if (scaling.session_affinity !== 'cookie') return undefined
  return { cookieName: scaling.session_cookie_name, instanceId: scaling.instance_id }
}

/** True for a client that opens a page, and does not belong to this instance yet. */
export function isNewVisit(affinity: Affinity, cookie: string | undefined, fetchMode: string | undefined): boolean {
  return fetchMode === 'navigate' && !hasAffinity(affinity, cookie)
}

/**
 * Adds the cookie to a response for a client that does not belong to this instance yet. Caches in front may keep what they share:
 * such a response sets it only where a browser opens a page.
 */
export function withAffinity(
  head: ResponseHead,
  affinity: Affinity,
  request: AffinityRequest,
  scheme: 'http' | 'https',
): ResponseHead {
  if (hasAffinity(affinity, request.header('cookie'))) return head
  if (request.header('sec-fetch-mode') !== 'navigate' && isShared(head)) return head
  const secure = scheme === 'https' ? '; Secure' : ''
  const value = `${affinity.cookieName}=${affinity.instanceId}; Path=/; HttpOnly; SameSite=Lax${secure}`
  return { status: head.status, headers: [...head.headers, ['set-cookie', value]] }
}

/** A client of an instance that is gone belongs to the one that the load balancer has sent it to. */
function hasAffinity({ cookieName, instanceId }: Affinity, cookie: string | undefined): boolean {
  return cookie !== undefined && parseCookies(cookie).get(cookieName) === instanceId
}

/** True if a shared cache may answer others with it (RFC 9111 section 3), for a time that it names itself. */
function isShared({ headers }: ResponseHead): boolean {
  const { isPrivate, noStore, noCache, lifetime } = responseDirectives(headers)
  if (isPrivate || noStore || noCache) return false
  return lifetime === undefined ? headers.some(([name]) => name.toLowerCase() === 'expires') : lifetime > 0
}
