import type { TurnClock } from '@svc/core'
import type { Peer } from '../balance/peer.ts'
import type { UpstreamGroup } from '../balance/upstream-group.ts'
import { parseServerAddress } from '../resolver/server-address.ts'
import { AddressBook } from './addresses.ts'
import type { MakeReader } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { TlsTransport } from './dial.ts'

/** The protocol of connections. */
export interface UpstreamProtocol {
  /** Tells its connections apart from those of others. */
  readonly name: string
  /** Idle connections to each server of a group that does not say. */
  readonly maxIdle: number
  /** How long a connection may have been idle that is used for a request which cannot be sent again, in milliseconds. */
  readonly trustedIdleMs: number
  /** Begins with the connections to one server: makes what reads each of them. */
  makeReaders(): MakeReader
}

/** All connections of a worker to upstreams: they outlive generations, as the groups do. */
export class HttpConnections {
  readonly addresses: AddressBook
  readonly #clock: Pick<TurnClock, 'monotonic' | 'turn'>
  readonly #pools = new Map<UpstreamGroup, Map<Peer, Map<string, ConnectionPool>>>()

  constructor(clock: Pick<TurnClock, 'monotonic' | 'turn'>) {
    this.addresses = new AddressBook(clock)
    this.#clock = clock
  }

  /** Connections to one server of a group. Undefined: its address is none. */
  pool(group: UpstreamGroup, peer: Peer, way: { readonly tls: TlsTransport | undefined; readonly protocol: UpstreamProtocol }) {
    const { tls, protocol } = way
    const key = tls === undefined ? protocol.name : `${protocol.name} ${keyOf(tls)}`
    const known = this.#pools.get(group)?.get(peer)?.get(key)
    if (known !== undefined) return known
    const { address } = peer.spec
    const server = parseServerAddress(address)
    if (server === undefined) return undefined
    const maxIdle = group.spec.keepalive ?? protocol.maxIdle
    const pool = new ConnectionPool({
      transport: { server, tls },
      name: address,
      addresses: this.addresses,
      clock: this.#clock,
      maxIdle,
      reuse: group.spec.reuse,
      trustedIdleMs: protocol.trustedIdleMs,
      makeReader: protocol.makeReaders(),
    })
    this.#ofPeer(group, peer).set(key, pool)
    return pool
  }

  /** Closes what is idle of servers that have left a group. */
  dropPeers(group: UpstreamGroup, peers: readonly Peer[]): void {
    const pools = this.#pools.get(group)
    for (const peer of peers) {
      for (const pool of pools?.get(peer)?.values() ?? []) pool.close()
      pools?.delete(peer)
    }
  }

  /** Closes what is idle of these groups; connections in use close when their responses end. */
  drop(groups: readonly UpstreamGroup[]): void {
    for (const group of groups) {
      const pools = this.#pools.get(group)
      this.#pools.delete(group)
      for (const ofPeer of pools?.values() ?? []) for (const pool of ofPeer.values()) pool.close()
    }
  }

  /** Closes everything that is idle. */
  close(): void {
    this.drop([...this.#pools.keys()])
  }

  #ofPeer(group: UpstreamGroup, peer: Peer): Map<string, ConnectionPool> {
    const ofGroup = this.#pools.get(group) ?? new Map<Peer, Map<string, ConnectionPool>>()
    this.#pools.set(group, ofGroup)
    const ofPeer = ofGroup.get(peer) ?? new Map<string, ConnectionPool>()
    ofGroup.set(peer, ofPeer)
    return ofPeer
  }
}

/** Tells settings of TLS apart: connections are used for requests with the same ones alone. */
function keyOf({ serverName, isVerified, verifiedName, maxDepth, context }: TlsTransport): string {
  return `${isVerified} ${serverName ?? ''} ${verifiedName ?? ''} ${maxDepth ?? ''} ${context?.key ?? ''}`
}

/** The connections of the last server used: most of the time it is used again. */
export class LastPool {
  readonly #find: (peer: Peer) => ConnectionPool | undefined
  #peer: Peer | undefined
  #pool: ConnectionPool | undefined

  constructor(find: (peer: Peer) => ConnectionPool | undefined) {
    this.#find = find
  }

  /** Undefined: its address is none. */
  of(peer: Peer): ConnectionPool | undefined {
    // A pool that was dropped with its group has no owner any more.
    if (peer === this.#peer && this.#pool?.isClosed === false) return this.#pool
    this.#peer = peer
    this.#pool = this.#find(peer)
    return this.#pool
  }
}
