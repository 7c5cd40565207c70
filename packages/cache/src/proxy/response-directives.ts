import { type HeaderList, parseCacheControl, splitOutsideQuotes } from '@svc/http'
import { joinedField } from './field-list.ts'
import { targetedControl } from './targeted-control.ts'

/** The cache directives of a response that apply to a shared cache. Durations in seconds. */
export interface ResponseDirectives {
  readonly isPublic: boolean
  readonly isPrivate: boolean
  readonly noStore: boolean
  readonly noCache: boolean
  /** It may not be used once it is stale, whatever else allows it: must-revalidate, proxy-revalidate, s-maxage or no-cache. */
  readonly forbidsStale: boolean
  /** It may be given to others than the one whose credentials were sent (RFC 9111 section 3.5). */
  readonly allowsShared: boolean
  readonly mustUnderstand: boolean
  /** s-maxage, else max-age. */
  readonly lifetime: number | undefined
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
  /** True if CDN-Cache-Control says all this: then Expires says nothing. */
  readonly isTargeted: boolean
}

/** Reads Cache-Control, or CDN-Cache-Control in its place where there is one (RFC 9213 section 2.2). */
export function responseDirectives(headers: HeaderList): ResponseDirectives {
  const targeted = targetedControl(joinedField(headers, 'cdn-cache-control'))
  const value = targeted ?? joinedField(headers, 'cache-control')
  const control = parseCacheControl(value)
  return {
    isPublic: control.isPublic,
    isPrivate: control.isPrivate,
    noStore: control.noStore,
    noCache: control.noCache,
    forbidsStale: control.mustRevalidate || control.proxyRevalidate || control.noCache || control.sMaxage !== undefined,
    allowsShared: control.isPublic || control.mustRevalidate || control.sMaxage !== undefined,
    mustUnderstand:
      value !== undefined && splitOutsideQuotes(value, ',').some((part) => part.toLowerCase() === 'must-understand'),
    lifetime: control.sMaxage ?? control.maxAge,
    staleWhileRevalidate: control.staleWhileRevalidate ?? 0,
    staleIfError: control.staleIfError ?? 0,
    isTargeted: targeted !== undefined,
  }
}
