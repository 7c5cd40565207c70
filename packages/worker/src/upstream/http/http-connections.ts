import type { Clock } from '@svc/core'
import type { Peer } from '../balance/peer.ts'
import type { UpstreamGroup } from '../balance/upstream-group.ts'
import { AddressBook, parsePlace } from './addresses.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { TlsTransport } from './dial.ts'

/** Idle connections to each server of a group that does not say. */
const DEFAULT_IDLE = 64

/** All HTTP connections of a worker to upstreams: they outlive generations, as the groups do. */
export class HttpConnections {
  readonly addresses: AddressBook
  readonly #pools = new Map<UpstreamGroup, Map<Peer, Map<string, ConnectionPool>>>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.addresses = new AddressBook(clock)
  }

  /** Connections to one server of a group. Undefined: its address is none. */
  pool(group: UpstreamGroup, peer: Peer, tls: TlsTransport | undefined): ConnectionPool | undefined {
    const key = tls === undefined ? '' : `${tls.isVerified} ${tls.serverName ?? ''}`
    return this.#pools.get(group)?.get(peer)?.get(key) ?? this.#newPool(group, peer, tls, key)
  }

  #newPool(group: UpstreamGroup, peer: Peer, tls: TlsTransport | undefined, key: string): ConnectionPool | undefined {
    const { address } = peer.spec
    const place = parsePlace(address)
    if (place === undefined) return undefined
    const pool = new ConnectionPool({ place, tls }, address, this.addresses, group.spec.keepalive ?? DEFAULT_IDLE)
    this.#ofPeer(group, peer).set(key, pool)
    return pool
  }

  /** Closes what is idle of these groups; connections in use close when their answers end. */
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
