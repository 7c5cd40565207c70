import { isIPv4 } from 'node:net'
import { crc32 } from 'node:zlib'
import type { Peer } from './peer.ts'

/**
 * Smooth weighted round robin: of the candidates, the one that has waited longest for its share. Changes their weights.
 * Undefined: there is none.
 */
export function nextByWeight(candidates: readonly Peer[]): Peer | undefined {
  let best: Peer | undefined
  let total = 0
  for (const peer of candidates) {
    peer.currentWeight += peer.effectiveWeight
    total += peer.effectiveWeight
    if (peer.effectiveWeight < peer.spec.weight) peer.effectiveWeight++
    if (best === undefined || peer.currentWeight > best.currentWeight) best = peer
  }
  if (best !== undefined) best.currentWeight -= total
  return best
}

/** Servers with the fewest requests in flight for their weight. */
export function leastLoaded(candidates: readonly Peer[]): readonly Peer[] {
  let least: Peer[] = []
  for (const peer of candidates) {
    const [first] = least
    // Compared without dividing, as whole numbers.
    const difference = first === undefined ? -1 : peer.active * first.spec.weight - first.active * peer.spec.weight
    if (difference < 0) least = [peer]
    else if (difference === 0) least.push(peer)
  }
  return least
}

/** How often a hash is tried before the choice is made by weight. */
const MAX_HASHES = 20

/**
 * The server of an address: the same for all addresses of an IPv4 network of 24 bits, and for one IPv6 address, as long as it is
 * in service; then the next one that the hash leads to. Undefined: it leads to none.
 * @param peers all of the group: those out of service keep their share of the addresses
 */
export function byAddress(peers: readonly Peer[], address: string, isCandidate: (peer: Peer) => boolean): Peer | undefined {
  const bytes = hashedBytes(address)
  const total = totalWeight(peers)
  let hash = 89
  for (let attempt = 0; attempt <= MAX_HASHES; attempt++) {
    for (const byte of bytes) hash = (hash * 113 + byte) % 6271
    const peer = atWeight(peers, hash % total)
    if (peer !== undefined && isCandidate(peer)) return peer
  }
  return undefined
}

/**
 * The server of a key of `hash`, or the next one that its hash leads to. Undefined: it leads to none.
 * @param peers all of the group: those out of service keep their share of the keys
 */
export function byKey(peers: readonly Peer[], key: string, isCandidate: (peer: Peer) => boolean): Peer | undefined {
  const total = totalWeight(peers)
  const bytes = Buffer.from(key, 'latin1')
  let hash = 0
  for (let attempt = 0; attempt <= MAX_HASHES; attempt++) {
    const prefix = attempt === 0 ? 0 : crc32(String(attempt))
    hash = (hash + ((crc32(bytes, prefix) >>> 16) & 0x7fff)) >>> 0
    const peer = atWeight(peers, hash % total)
    if (peer !== undefined && isCandidate(peer)) return peer
  }
  return undefined
}

/** A server at random, by weight; of two, the one with fewer requests for its weight. Undefined: chance finds none. */
export function byChance(peers: readonly Peer[], isOfTwo: boolean, isCandidate: (peer: Peer) => boolean): Peer | undefined {
  const total = totalWeight(peers)
  let first: Peer | undefined
  for (let attempt = 0; attempt <= MAX_HASHES; attempt++) {
    const peer = atWeight(peers, Math.floor(Math.random() * total))
    if (peer === undefined || peer === first || !isCandidate(peer)) continue
    if (!isOfTwo) return peer
    if (first !== undefined) return peer.active * first.spec.weight > first.active * peer.spec.weight ? first : peer
    first = peer
  }
  return undefined
}

function totalWeight(peers: readonly Peer[]): number {
  let total = 0
  for (const { spec } of peers) total += spec.weight
  return total
}

function atWeight(peers: readonly Peer[], weight: number): Peer | undefined {
  let rest = weight
  for (const peer of peers) {
    if (rest < peer.spec.weight) return peer
    rest -= peer.spec.weight
  }
  return undefined
}

/** The first three octets of IPv4, all sixteen of IPv6, and zeros for a client without an address. */
function hashedBytes(address: string): readonly number[] {
  if (isIPv4(address)) return address.split('.').slice(0, 3).map(Number)
  if (!address.includes(':')) return [0, 0, 0]
  const [head = '', tail] = address.split('::')
  const before = groupsOf(head)
  const behind = tail === undefined ? [] : groupsOf(tail)
  const zeros = new Array<number>(Math.max(0, 8 - before.length - behind.length)).fill(0)
  return [...before, ...zeros, ...behind].flatMap((group) => [group >> 8, group & 0xff])
}

function groupsOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16) || 0)
}
