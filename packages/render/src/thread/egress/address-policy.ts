import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** An address with a port, as the server itself listens on. `address` "0.0.0.0" or "::" stands for all of this machine. */
export interface OwnAddress {
  readonly address: string
  readonly port: number
}

/** What a site's `fetch` may reach beyond public addresses. */
export interface EgressRules {
  /** Host names, `*.suffix`, addresses, CIDRs or `host:port`, as configured. */
  readonly allow: readonly string[]
  /** Every local and private address too. */
  readonly allowLocal: boolean
  /** Where this server listens. */
  readonly own: readonly OwnAddress[]
  /** Addresses of this machine's interfaces. */
  readonly machine: readonly string[]
}

/** One connection that a site asks for: the name it used and the very address that would be connected to. */
export interface EgressTarget {
  /** Lower case, without brackets. */
  readonly hostname: string
  readonly address: string
  readonly port: number
}

/** Whether the connection may be made, and why not. */
export type EgressVerdict = { readonly isAllowed: true } | { readonly isAllowed: false; readonly reason: string }

const allowed: EgressVerdict = { isAllowed: true }

/** RFC 6052 section 2.1: the well-known prefix carries the IPv4 address in its last 32 bits. */
const nat64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96]
/** RFC 4291 section 2.5.5.1, deprecated: an IPv4 address after 96 zero bits. */
const compatible: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('::'), 96]

/** The address that packets reach in the end: IPv4 for IPv4-mapped, IPv4-compatible and NAT64 forms. */
function effective(address: Address): Address {
  if (address.kind() === 'ipv4') return address
  const v6 = address as ipaddr.IPv6
  const isWrapped = v6.isIPv4MappedAddress() || v6.match(nat64) || (v6.match(compatible) && v6.range() === 'unicast')
  return isWrapped ? new ipaddr.IPv4(v6.toByteArray().slice(12)) : v6
}

/** Says what kind of address it is: "unicast" for public ones, else the name of its range. */
export function addressRange(address: string): string {
  if (isIP(address) === 0) return 'invalid'
  return effective(ipaddr.parse(address.replace(/%.*$/, ''))).range()
}

function isSame(a: string, b: string): boolean {
  if (!ipaddr.isValid(a) || !ipaddr.isValid(b)) return a === b
  return effective(ipaddr.parse(a)).toNormalizedString() === effective(ipaddr.parse(b)).toNormalizedString()
}

function isInCidr(address: string, cidr: string): boolean {
  const [range, bits] = ipaddr.parseCIDR(cidr)
  const candidate = effective(ipaddr.parse(address))
  return candidate.kind() === range.kind() && candidate.match(range, bits)
}

function splitPort(entry: string): { host: string; port: number | undefined } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry)
  if (match === null) return { host: entry, port: undefined }
  return { host: match[1] ?? match[2] ?? entry, port: match[3] === undefined ? undefined : Number(match[3]) }
}

function matchesEntry(entry: string, { hostname, address, port }: EgressTarget): boolean {
  if (entry.includes('/')) return ipaddr.isValidCIDR(entry) && isInCidr(address, entry)
  const { host, port: onlyPort } = splitPort(entry.toLowerCase())
  if (onlyPort !== undefined && onlyPort !== port) return false
  if (host.startsWith('*.')) return hostname.endsWith(host.slice(1))
  return host === hostname || isSame(host, address)
}

function isOwn({ address, port }: EgressTarget, rules: EgressRules): boolean {
  const isMachine = () => rules.machine.some((one) => isSame(one, address)) || addressRange(address) === 'loopback'
  return rules.own.some((own) => {
    if (own.port !== port) return false
    return own.address === '0.0.0.0' || own.address === '::' ? isMachine() : isSame(own.address, address)
  })
}

/**
 * Decides whether a site may connect to an address. Public addresses are free but for those that this server listens on;
 * all others need an entry in `fetch_allow` or `allowLocal`.
 */
export function checkEgress(target: EgressTarget, rules: EgressRules): EgressVerdict {
  if (addressRange(target.address) === 'invalid') return { isAllowed: false, reason: `${target.address} is no address` }
  if (rules.allowLocal || rules.allow.some((entry) => matchesEntry(entry, target))) return allowed
  const shown = target.hostname === target.address ? target.address : `${target.hostname} (${target.address})`
  if (isOwn(target, rules)) return { isAllowed: false, reason: `${shown} is this server itself` }
  const range = addressRange(target.address)
  if (range === 'unicast') return allowed
  return { isAllowed: false, reason: `${shown} is not a public address (${range}); fetch_allow may list it` }
}
