import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isCidr } from '@svc/http'

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const name = new RegExp(`^${label}(?:\\.${label})*$`)

/**
 * Brings a host name to the form it is compared in: lower case, international names as ASCII, no trailing dot.
 * Undefined when the text is no host name.
 */
function normalizeHostname(text: string): string | undefined {
  const bare = text.replace(/\.$/, '')
  if (/^\[.*\]$/.test(bare)) return isIP(bare.slice(1, -1)) === 6 ? bare.toLowerCase() : undefined
  const ascii = /^[\x21-\x7e]+$/.test(bare) ? bare.toLowerCase() : domainToASCII(bare)
  return ascii.length <= 253 && name.test(ascii) ? ascii : undefined
}

/** Brings `name` or `*.suffix` to the form it is compared in. Undefined when it is neither. */
export function normalizeHostPattern(text: string): string | undefined {
  if (!text.startsWith('*.')) return normalizeHostname(text)
  const suffix = normalizeHostname(text.slice(2))
  return suffix === undefined || isIP(suffix) !== 0 ? undefined : `*.${suffix}`
}

/** A host and a port to listen on. `host` is without brackets; port 0 picks a free one. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

const HOST_AND_PORT = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d{1,5})$/

/** Parses `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`. Undefined when the text is none of these. */
export function parseListenAddress(text: string): HostPort | undefined {
  const match = HOST_AND_PORT.exec(text)
  if (match === null) return undefined
  const [, bracketed, plain, digits] = match
  const port = Number(digits)
  if (port > 65_535 || (bracketed !== undefined && isIP(bracketed) !== 6)) return undefined
  return { host: bracketed ?? plain ?? '', port }
}

function addressesOf(host: string): readonly string[] {
  const name = host.toLowerCase()
  return name === 'localhost' ? ['127.0.0.1', '::1'] : [name]
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Returns true if `host` opens an address of `other`. A socket on `::` takes IPv4 too. */
function covers(host: string, other: string): boolean {
  const own = new BlockList()
  for (const address of addressesOf(host)) {
    if (address === '0.0.0.0' || address === '::') own.addSubnet('0.0.0.0', 0)
    if (address === '::') own.addSubnet('::', 0, 'ipv6')
    else if (isIP(address) !== 0) own.addAddress(address, familyOf(address))
  }
  // A wildcard covers the addresses of every host name.
  const isCovered = (address: string) =>
    isIP(address) === 0 ? address === host.toLowerCase() || own.check('255.255.255.255') : own.check(address, familyOf(address))
  return addressesOf(other).some(isCovered)
}

/** Returns true if both open an address in common: in another spelling, as `localhost` (127.0.0.1 or ::1), or with a wildcard. */
export function doAddressesOverlap(one: HostPort, other: HostPort): boolean {
  return one.port === other.port && one.port !== 0 && (covers(one.host, other.host) || covers(other.host, one.host))
}

/** Returns true if a text names what a site's `fetch` may reach: a host name, `*.suffix`, an address, a CIDR or `host:port`. */
export function isFetchTarget(text: string): boolean {
  if (isCidr(text) || normalizeHostPattern(text) !== undefined) return true
  const address = parseListenAddress(text)
  return address !== undefined && address.port > 0
}

/** Parses a URL of one of the given schemes (without colon). Undefined when it is malformed or of another scheme. */
export function parseUrl(text: string, schemes: readonly string[]): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return schemes.includes(url.protocol.slice(0, -1)) && url.hostname !== '' ? url : undefined
}

/** Returns true if a text is a Redis URL or a comma-separated list of cluster nodes (URLs or `host:port`). */
export function isRedisUrl(text: string): boolean {
  if (/^unix:\/\/(?:[^@/\s]*@localhost)?\/[^,]+$/.test(text)) return true
  if (/^redis-sentinel:\/\/(?:[^@/\s]*@)?[^@/\s]+\/[^/\s]+(?:\/\d{1,4})?$/.test(text)) return true
  const nodes = text.split(',').map((node) => node.trim())
  const isNode = (node: string) => parseUrl(node, ['redis', 'rediss']) !== undefined
  if (nodes.length === 1) return isNode(text) && /^\w+:\/\/[^/?]*(?:\/\d{0,4})?$/.test(text)
  return nodes.every((node) => isNode(node) || /^[^\s:/@]+:\d{1,5}$/.test(node) || /^\[[0-9a-f:]+\]:\d{1,5}$/i.test(node))
}
