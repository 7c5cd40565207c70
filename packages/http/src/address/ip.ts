import ipaddr from 'ipaddr.js'
import { HttpError } from '../errors/errors.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * Writes an address the one way in which addresses are compared, keyed and logged: IPv4 as four decimals, IPv6 as RFC 5952
 * wants it, an IPv4-mapped address (RFC 4291 section 2.5.5.2) as IPv4. Undefined when the text is no address; zone ids are
 * refused.
 */
export function canonicalAddress(text: string): string | undefined {
  if (ipv4Number(text) !== -1) return text
  const address = parseAddress(text)
  return address?.kind() === 'ipv6' ? (address as ipaddr.IPv6).toRFC5952String() : address?.toString()
}

/** Key of a client in counters: an IPv4 address, or the /64 that an IPv6 client has to itself. "" for any other text. */
export function clientNetwork(address: string): string {
  const parsed = ipv4Number(address) === -1 ? parseAddress(address) : undefined
  if (parsed === undefined) return canonicalAddress(address) ?? ''
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toRFC5952String()}/64`
}

/** A compiled list of address ranges. */
export class CidrSet {
  readonly #ipv4: Array<{ readonly network: number; readonly mask: number }> = []
  readonly #ipv6: Array<[ipaddr.IPv6, number]> = []

  /**
   * @param ranges addresses or CIDR ranges, e.g. "10.0.0.0/8", "::1"
   * @throws HTTP_BAD_CIDR naming the range that is not understood
   */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#add(range)
  }

  get isEmpty(): boolean {
    return this.#ipv4.length === 0 && this.#ipv6.length === 0
  }

  /** Returns true if an address lies in one of the ranges. An IPv4-mapped address counts as IPv4; no address is in no range. */
  contains(address: string): boolean {
    if (this.isEmpty) return false
    const number = ipv4Number(address)
    if (number !== -1) return this.#containsIpv4(number)
    const parsed = parseAddress(address)
    if (parsed === undefined) return false
    if (parsed.kind() === 'ipv4') return this.#containsIpv4(ipv4Number(parsed.toString()))
    return this.#ipv6.some((range) => parsed.match(range))
  }

  #containsIpv4(number: number): boolean {
    for (const { network, mask } of this.#ipv4) if ((number & mask) >>> 0 === network) return true
    return false
  }

  #add(text: string): void {
    const range = parseCidr(text)
    if (range === undefined) throw new HttpError('HTTP_BAD_CIDR', { range: text })
    const [address, bits] = range
    if (address instanceof ipaddr.IPv4) this.#addIpv4(address, bits)
    else if (address.isIPv4MappedAddress() && bits >= 96) this.#addIpv4(address.toIPv4Address(), bits - 96)
    else this.#ipv6.push([address, bits])
  }

  #addIpv4(address: ipaddr.IPv4, bits: number): void {
    const mask = bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0
    this.#ipv4.push({ network: (ipv4Number(address.toString()) & mask) >>> 0, mask })
  }
}

/** Returns true if a text is an address or a network in CIDR notation (RFC 4632, RFC 4291 section 2.3). */
export function isCidr(text: string): boolean {
  return parseCidr(text) !== undefined
}

/** A network: its address and the bits of it that count. */
export function parseCidr(text: string): [Address, bits: number] | undefined {
  const slash = text.indexOf('/')
  const host = slash === -1 ? text : text.slice(0, slash)
  const address = ipv4Number(host) === -1 ? ipv6Of(host) : ipaddr.IPv4.parse(host)
  const width = address instanceof ipaddr.IPv4 ? 32 : 128
  const bits = slash === -1 ? width : prefixLength(text.slice(slash + 1), width)
  return address === undefined || bits === undefined ? undefined : [address, bits]
}

function prefixLength(text: string, width: number): number | undefined {
  if (!/^(0|[1-9]\d{0,2})$/.test(text)) return undefined
  return Number(text) <= width ? Number(text) : undefined
}

function ipv6Of(text: string): ipaddr.IPv6 | undefined {
  return text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined
}

/** IPv4-mapped addresses come back as IPv4. */
function parseAddress(text: string): Address | undefined {
  const address = ipv6Of(text)
  return address?.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/**
 * Value of a dotted-decimal address, or -1. By hand, because it runs for every request behind a proxy; leading zeros are
 * refused (some parsers read them as octal).
 */
function ipv4Number(text: string): number {
  let result = 0
  let part = -1
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x2e) {
      if (part === -1 || ++dots > 3) return -1
      result = result * 256 + part
      part = -1
    } else if (code >= 0x30 && code <= 0x39 && part !== 0) {
      part = (part === -1 ? 0 : part * 10) + code - 0x30
      if (part > 255) return -1
    } else {
      return -1
    }
  }
  return dots === 3 && part !== -1 ? result * 256 + part : -1
}
