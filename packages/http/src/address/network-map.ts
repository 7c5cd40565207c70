import ipaddr from 'ipaddr.js'
import { canonicalAddress, parseCidr } from './ip.ts'

type Table<Value> = Map<number, Map<bigint, Value>>

const IPV4_BITS = 32
const IPV6_BITS = 128

/** Values of networks: an address has that of the smallest network that it lies in. Of two for one network the last counts. */
export class NetworkMap<Value> {
  readonly #ipv4: Table<Value> = new Map()
  readonly #ipv6: Table<Value> = new Map()

  /** @throws nothing: a text that is no network is left out */
  constructor(networks: Iterable<readonly [network: string, value: Value]>) {
    for (const [network, value] of networks) this.#add(network, value)
    for (const table of [this.#ipv4, this.#ipv6]) sortByBits(table)
  }

  /** Undefined: it lies in none, or is no address. */
  find(text: string): Value | undefined {
    const canonical = canonicalAddress(text)
    if (canonical === undefined) return undefined
    const isIpv6 = canonical.includes(':')
    const width = isIpv6 ? IPV6_BITS : IPV4_BITS
    const number = numberOf(ipaddr.parse(canonical))
    for (const [bits, networks] of isIpv6 ? this.#ipv6 : this.#ipv4) {
      const value = networks.get(number >> BigInt(width - bits))
      if (value !== undefined) return value
    }
    return undefined
  }

  #add(network: string, value: Value): void {
    const parsed = parseCidr(network)
    if (parsed === undefined) return
    let [address, bits] = parsed
    if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= IPV6_BITS - IPV4_BITS) {
      address = address.toIPv4Address()
      bits -= IPV6_BITS - IPV4_BITS
    }
    const isIpv6 = address instanceof ipaddr.IPv6
    const table = isIpv6 ? this.#ipv6 : this.#ipv4
    const networks = table.get(bits) ?? new Map<bigint, Value>()
    networks.set(numberOf(address) >> BigInt((isIpv6 ? IPV6_BITS : IPV4_BITS) - bits), value)
    table.set(bits, networks)
  }
}

function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  return address.toByteArray().reduce((number, byte) => (number << 8n) | BigInt(byte), 0n)
}

/** The most bits first. */
function sortByBits<Value>(table: Table<Value>): void {
  const sorted = [...table].sort(([one], [other]) => other - one)
  table.clear()
  for (const [bits, networks] of sorted) table.set(bits, networks)
}
