import { type ContentCoding, type HeaderList, parseCacheControl, type ResponseHead } from '@svc/http'

/** A response that a stage offers to L0, with the bounds of its lifetime. */
export interface L0Offer {
  /** End of freshness, milliseconds of the wall clock; Infinity: until it is purged, or `isCurrent` says no. */
  readonly expiresAt: number
  readonly label: string
  /** Normalised path of the resource, which a rewrite may have made another than that of the request. */
  readonly path: string
  /** Full tags. */
  readonly tags: readonly string[]
  /** Number of the last purge that was known when its production began; undefined: it was produced just now. */
  readonly seq?: number
  /** True if the response could be another with another cookie. */
  readonly dependsOnCookies: boolean
  /** True if its Cache-Control counts from its creation, as Age does, and so stays as it is. */
  readonly keepsLifetime?: boolean
  /** True if the response is still current, for sources that change without a purge (files). Called at most once a second. */
  readonly isCurrent?: () => boolean
}

/** The parts of a request that decide if its response may be shared. */
interface L0Asker {
  readonly method: string
  /** First value of a field by lower-case name. */
  header(name: string): string | undefined
}

const STATUSES: ReadonlySet<number> = new Set([200, 203, 204, 301, 308, 404, 410])

/** Cookies of the service itself never count: this one, and that of `scaling.session_cookie_name`. */
const ADMIN_COOKIE = 'SVC_ADMIN'

/**
 * True if a Cookie field holds a cookie that is not the service's own.
 * @param affinityCookie `scaling.session_cookie_name`
 */
export function hasForeignCookie(field: string | undefined, affinityCookie: string): boolean {
  if (field === undefined) return false
  return field.split(';').some((pair) => {
    const name = (pair.split('=')[0] ?? '').trim()
    return pair.trim() !== '' && name !== ADMIN_COOKIE && name !== affinityCookie
  })
}

/**
 * True if a request may be answered from L0, or its response enter it, as far as credentials go. They are never shared; and
 * with a cookie only what no cookie changes.
 */
export function isCredentialFree(asker: L0Asker, dependsOnCookies: boolean, affinityCookie: string): boolean {
  if (asker.header('authorization') !== undefined) return false
  return !dependsOnCookies || !hasForeignCookie(asker.header('cookie'), affinityCookie)
}

/**
 * True if a response to GET is of a kind that L0 keeps: complete, shared by all clients, and not bound to more of the request than the
 * key. A request with HEAD may have led to it.
 * @param coding the encoding class of the request
 */
export function mayEnterL0(
  asker: L0Asker,
  coding: ContentCoding,
  head: ResponseHead,
  { dependsOnCookies, affinityCookie }: { readonly dependsOnCookies: boolean; readonly affinityCookie: string },
): boolean {
  if ((asker.method !== 'GET' && asker.method !== 'HEAD') || !STATUSES.has(head.status)) return false
  return (
    isCredentialFree(asker, dependsOnCookies, affinityCookie) && !forbidsTransform(asker) && areShareable(head.headers, coding)
  )
}

/** Its response is not compressed, so it does not fit other requests of its encoding class. */
function forbidsTransform(asker: L0Asker): boolean {
  return parseCacheControl(asker.header('cache-control')).noTransform
}

function areShareable(headers: HeaderList, coding: ContentCoding): boolean {
  return headers.every(([name, value]) => {
    switch (name.toLowerCase()) {
      case 'set-cookie':
        return false
      case 'vary':
        return value.split(',').every((member) => ['', 'accept-encoding'].includes(member.trim().toLowerCase()))
      case 'content-encoding':
        // A precompressed file may be in another coding than the one that this class likes best.
        return value === coding
      case 'cache-control': {
        const { isPrivate, noStore, noCache } = parseCacheControl(value)
        return !isPrivate && !noStore && !noCache
      }
      default:
        return true
    }
  })
}
