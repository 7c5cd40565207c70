import type { ResponseHead } from '@svc/http'
import { firstField } from './field-list.ts'
import { normalizedUri } from './proxy-address.ts'

/** Methods after which nothing is invalid (the safe ones of the method registry). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'REPORT', 'SEARCH', 'QUERY'])

/** True if a request may have changed the resource at its URI. */
export function isUnsafe(method: string): boolean {
  return !SAFE.has(method)
}

/**
 * The URIs, absolute, whose stored responses a request of an unsafe method has made invalid (RFC 9111 section 4.4): its own, and
 * those of the same origin that the response names. None after an error.
 * @param uri of the request
 */
export function invalidatedUris(uri: string, { status, headers }: ResponseHead): readonly string[] {
  if (status < 200 || status >= 400) return []
  const base = URL.parse(uri)
  if (base === null) return []
  const found = new Set([uri])
  for (const name of ['location', 'content-location']) {
    const named = firstField(headers, name)
    const other = named === undefined ? null : URL.parse(named, base.href)
    if (other === null || other.origin !== base.origin) continue
    const normal = normalizedUri(other)
    if (normal !== undefined) found.add(normal)
  }
  return [...found]
}
