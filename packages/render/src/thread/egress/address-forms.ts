import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** RFC 6052 section 2.1: the well-known prefix carries the IPv4 address in its last 32 bits. */
const nat64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96]
/** RFC 4291 section 2.5.5.1, deprecated: an IPv4 address after 96 zero bits. */
const compatible: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('::'), 96]

/**
 * Bytes of an IPv6 address that may carry an IPv4 address: 6to4 (RFC 3056), the server of Teredo (RFC 4380), and NAT64 with a
 * prefix of 32 to 96 bits (RFC 6052 section 2.2), the last of which ISATAP (RFC 5214) uses too.
 */
const embeddings = [
  [2, 3, 4, 5],
  [4, 5, 6, 7],
  [5, 6, 7, 9],
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
] as const
const BITS = 0xff

/** Parses an address, without its zone. @returns undefined when it is none */
export function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/%.*$/, '')
  // ipaddr.js also takes short forms such as 1.2.3, which mean different things to different programs.
  return isIP(bare) === 0 ? undefined : ipaddr.parse(bare)
}

/** RFC 5214 section 6.1: an interface identifier of 0000:5EFE or 0200:5EFE and an IPv4 address, below any prefix. */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high = 0, low] = address.parts
  return (high & ~0x0200) === 0 && low === 0x5efe
}

/** Returns the address that packets reach in the end: IPv4 for IPv4-mapped, IPv4-compatible, NAT64 and ISATAP forms. */
export function effectiveAddress(address: Address): Address {
  if (address.kind() === 'ipv4') return address
  const v6 = address as ipaddr.IPv6
  const isWrapped =
    v6.isIPv4MappedAddress() || v6.match(nat64) || (v6.match(compatible) && v6.range() === 'unicast') || isIsatap(v6)
  return isWrapped ? new ipaddr.IPv4(v6.toByteArray().slice(12)) : v6
}

/** Returns one spelling for all forms of an address. */
export function canonical(address: Address): string {
  return effectiveAddress(address).toNormalizedString()
}

/** Returns the spellings of an address and of every IPv4 address that some transition mechanism could find in it. */
export function possibleTargets(address: Address): string[] {
  const own = canonical(address)
  if (address.kind() === 'ipv4') return [own]
  const bytes = address.toByteArray()
  const embedded = embeddings.map((places) => places.map((place) => bytes[place] ?? 0).join('.'))
  // RFC 4380 section 4: the client of Teredo stands there with all bits inverted.
  const client = bytes.slice(12).map((byte) => byte ^ BITS)
  return [own, ...embedded, client.join('.')]
}
