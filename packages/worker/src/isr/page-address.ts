import { type Purgeable, responseKey, responseTags, type Variance } from '@svc/cache'
import type { RenderRequest } from '@svc/protocol'

/**
 * How a host came to its site. `own`: by its exact name. `open`: by a wildcard, or with a foreign port, so that clients can make
 * up any number of such hosts. `unknown`: nothing claims it, the site only takes the remaining hosts.
 */
export type HostBinding = 'own' | 'open' | 'unknown'

/** The address of a response of a site: all parts of a request that its key may depend on. */
export interface PageAddress {
  readonly label: string
  /** Normalised, as middleware has rewritten it. */
  readonly path: string
  /** Without "?". */
  readonly query: string
  /** Scheme and host as the site's code sees them: `https://shop.test`. */
  readonly origin: string
  /** Host name without port. */
  readonly hostname: string
  readonly binding: HostBinding
  readonly kind: RenderRequest['kind']
  /** Pattern of the route, "" where none matched. */
  readonly pattern: string
}

/** The key of a response whose request inputs are not known yet. */
export const NARROW: Variance = Object.freeze({ query: false, host: false })

/** The key of an address, as far as its response depends on the request. */
export function keyOf(address: PageAddress, variance: Variance): string {
  return responseKey(address.label, address.path, variance, address.query, address.origin)
}

/**
 * The key under which it is remembered that a response could not be shared. Hosts that nothing claims have one of their own:
 * what must not be stored for a made-up name may well be stored for the names of the site.
 * @param address undefined: no client asks
 */
export function passKeyOf(key: string, address: Pick<PageAddress, 'binding'> | undefined): string {
  return address?.binding === 'unknown' ? `${key}\0unknown` : key
}

/** The union of the inputs of both. */
export function union(left: Variance, right: Variance): Variance {
  return { query: left.query || right.query, host: left.host || right.host }
}

/** True if `wide` holds something that `narrow` does not. */
export function isWider(wide: Variance, narrow: Variance): boolean {
  return (wide.query && !narrow.query) || (wide.host && !narrow.host)
}

/**
 * True if clients can make up any number of keys like this one. Such entries are kept at their second request only, and take a
 * bounded part of the store.
 */
export function isOpenEnded(address: PageAddress, variance: Variance, status: number): boolean {
  if (status === 404 || status === 410) return true
  return (variance.query && address.query !== '') || (variance.host && address.binding !== 'own')
}

/** True if the route takes any path of its kind: the response to the first request is stored as a newcomer. */
export function isOfDynamicRoute({ pattern }: PageAddress): boolean {
  return pattern.includes('[')
}

/** The properties of a response at this address that a purge can match. */
export function purgeableOf(address: PageAddress, variance: Variance, siteTags: readonly string[]): Purgeable {
  const { label, path, pattern } = address
  return { label, path, host: variance.host ? address.hostname : '', tags: responseTags(label, path, pattern, siteTags) }
}
