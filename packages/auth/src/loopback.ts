import { CidrSet, type HeaderList, parseHost } from '@svc/http'

/** The parts of a request that tell if it comes from the host itself. */
interface LoopbackRequest {
  /** It came over the control socket of the instance, which only its user can open. */
  readonly isControlSocket: boolean
  /** Canonical address of the TCP peer; "" when the connection has none (a unix socket that the configuration listens on). */
  readonly peerAddress: string
  /** True if the connection began with a header of the PROXY protocol, by which a proxy speaks for another client. */
  readonly isProxied: boolean
  /** Host field as sent; "" when there was none. */
  readonly host: string
  /** Lower-case names. */
  readonly headers: HeaderList
}

/** Settings for the decision. */
interface LoopbackPolicy {
  /** `server.loopback_trust`: true if a TCP peer on the loopback interface counts. */
  readonly trustsTcp: boolean
  /** Returns true if an address is in `server.trusted_proxies`. */
  isTrustedProxy(address: string): boolean
  /** Returns true if a configured site claims this host name (lower case, without port), not just gets it for want of another. */
  isSiteHost(hostname: string): boolean
  /** True if no site answers on the host of the request: its pages are our own. */
  readonly isPanelHost: boolean
}

const loopback = new CidrSet(['127.0.0.0/8', '::1'])
/** Fields that a proxy adds: with one of them the peer speaks for another client. */
const forwardingFields: ReadonlySet<string> = new Set(['forwarded', 'via', 'x-real-ip', 'cf-connecting-ip', 'cdn-loop'])
const FORWARDED_PREFIX = 'x-forwarded-'

function isForwarded(headers: HeaderList): boolean {
  return headers.some(([name]) => forwardingFields.has(name) || name.startsWith(FORWARDED_PREFIX))
}

/** The kind of a Host field. A page of a foreign name that resolves to this host (DNS rebinding) names itself in Host. */
function kindOf(host: string, policy: LoopbackPolicy): 'machine' | 'site' | 'foreign' {
  const parsed = parseHost(host)
  if (parsed === 'bad_host') return 'foreign'
  const { hostname } = parsed
  const address = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  if (hostname === 'localhost' || loopback.contains(address)) return 'machine'
  return policy.isSiteHost(hostname) ? 'site' : 'foreign'
}

/** The host and port of an Origin field, as Host has them; undefined for "null" and whatever is no origin. */
function originHost(origin: string): string | undefined {
  const url = URL.parse(origin)
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') ? undefined : url.host
}

/** Host with the port left out where it is the one of the scheme, as an origin has it. */
function withoutDefaultPort(host: string, origin: string): string {
  return URL.parse(`${URL.parse(origin)?.protocol ?? 'http:'}//${host}`)?.host ?? host
}

/** A page of another site can make a browser on this host send requests. */
function isCrossSite(host: string, headers: HeaderList): boolean {
  return headers.some(([name, value]) => {
    // Of localhost, other ports are the same site, and another program's.
    if (name === 'sec-fetch-site') return ['cross-site', 'same-site'].includes(value.trim().toLowerCase())
    return name === 'origin' && originHost(value) !== withoutDefaultPort(host, value)
  })
}

/**
 * A page of a site can make a browser on this host, or behind a tunnel to it, send requests to the host of the page. Browsers add
 * Origin to changes, and Sec-Fetch-Site to all requests to hosts that they trust: TLS and loopback names. A reading request to another
 * name, which a tenant can let resolve to the loopback address, has only Accept-Language to tell: no script can take it away.
 * `fetch` of Node sends it too, with Sec-Fetch-Mode, which no script can add.
 */
function isOfSitePage(headers: HeaderList, kind: 'machine' | 'site'): boolean {
  const fetchSite = headers.filter(([name]) => name === 'sec-fetch-site').map(([, value]) => value.trim().toLowerCase())
  if (headers.some(([name]) => name === 'origin') || fetchSite.some((value) => value !== 'none')) return true
  const saysMode = headers.some(([name]) => name === 'sec-fetch-mode')
  return kind === 'site' && fetchSite.length === 0 && !saysMode && headers.some(([name]) => name === 'accept-language')
}

/**
 * Returns true if a request counts as one of the host itself, which opens the loopback endpoints: the peer is local, names this host or
 * one of its sites, speaks for no other client, and is not a browser that a page drives, be it a foreign one or one of a site.
 */
export function isLoopback(request: LoopbackRequest, policy: LoopbackPolicy): boolean {
  const { isControlSocket, peerAddress, isProxied, host, headers } = request
  const isLocalPeer = isControlSocket || (policy.trustsTcp && loopback.contains(peerAddress))
  if (!isLocalPeer || isProxied || policy.isTrustedProxy(peerAddress)) return false
  const kind = kindOf(host, policy)
  if (kind === 'foreign' || isForwarded(headers) || isCrossSite(host, headers)) return false
  return policy.isPanelHost || !isOfSitePage(headers, kind)
}
