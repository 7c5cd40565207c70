import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@svc/core'
import { byAddress, leastLoaded, nextByWeight } from './choices.ts'
import { Peer, type UpstreamServerSpec } from './peer.ts'

/** A group of servers, as configured. */
export interface UpstreamSpec {
  readonly name: string
  readonly balance: 'round_robin' | 'least_conn' | 'ip_hash'
  /** Idle connections kept for each worker; undefined: the default of the protocol. */
  readonly keepalive: number | undefined
  readonly servers: readonly UpstreamServerSpec[]
}

/** How a request to a server ended. */
export type PeerOutcome =
  | 'answered'
  | 'failed'
  /** It responded, but with a status for which another server is tried (403, 404), or the client disconnected. */
  | 'passed'

/** State of one server. */
interface PeerState extends Pick<Peer, 'active' | 'fails'> {
  readonly spec: UpstreamServerSpec
  /** True if it failed too often to be tried now. */
  readonly isAvoided: boolean
}

/** The servers behind one name, as this worker knows them. */
export class UpstreamGroup {
  readonly spec: UpstreamSpec
  readonly #clock: Pick<Clock, 'monotonic'>
  /** In the order of the configuration. */
  readonly #peers: readonly Peer[]
  readonly #primaries: readonly Peer[]
  readonly #backups: readonly Peer[]
  readonly #down: ReadonlySet<Peer>
  /** The only server of a group is always tried. */
  readonly #only: Peer | undefined

  /** @param before the group that this one takes the place of: the state of servers goes on */
  constructor(spec: UpstreamSpec, clock: Pick<Clock, 'monotonic'>, before?: UpstreamGroup) {
    this.spec = spec
    this.#clock = clock
    const known = before === undefined ? [] : [...before.#peers]
    const peers = spec.servers.map(({ isDown, ...server }) => ({ isDown, peer: takePeer(known, server) ?? new Peer(server) }))
    this.#peers = peers.map(({ peer }) => peer)
    this.#primaries = this.#peers.filter((peer) => !peer.spec.isBackup)
    this.#backups = this.#peers.filter((peer) => peer.spec.isBackup)
    this.#down = new Set(peers.flatMap(({ isDown, peer }) => (isDown ? [peer] : [])))
    this.#only = this.size === 1 ? this.#peers[0] : undefined
  }

  /** How many servers a request may be tried with. */
  get size(): number {
    return this.#peers.length
  }

  /** Milliseconds of a monotonic clock. */
  now(): number {
    return this.#clock.monotonic()
  }

  /** The servers with their state, in the order of the configuration. */
  states(): PeerState[] {
    const now = this.#clock.monotonic()
    return this.#peers.map((peer) => ({
      spec: { ...peer.spec, isDown: this.#down.has(peer) },
      isAvoided: this.#only === undefined && !this.#down.has(peer) && !peer.isInService(now),
      active: peer.active,
      fails: peer.fails,
    }))
  }

  /**
   * Chooses a server that was not tried yet. Every choice is to be released. Undefined: none is in service.
   * @param clientAddress for groups that choose by it
   */
  choose(clientAddress: string, tried: readonly Peer[]): Peer | undefined {
    if (this.#only !== undefined) return this.#chooseOnly(this.#only, tried)
    const now = this.#clock.monotonic()
    const chosen = this.#from(this.#primaries, clientAddress, tried, now) ?? this.#from(this.#backups, clientAddress, tried, now)
    chosen?.taken(now)
    return chosen
  }

  /** The request has ended. */
  release(peer: Peer, outcome: PeerOutcome): void {
    peer.active--
    if (this.#only !== undefined) return
    if (outcome === 'failed') peer.failed(this.#clock.monotonic())
    else if (outcome === 'answered') peer.succeeded()
  }

  #chooseOnly(peer: Peer, tried: readonly Peer[]): Peer | undefined {
    if (this.#down.has(peer) || tried.includes(peer)) return undefined
    peer.active++
    return peer
  }

  #from(peers: readonly Peer[], clientAddress: string, tried: readonly Peer[], now: number): Peer | undefined {
    const isCandidate = (peer: Peer) => !this.#down.has(peer) && !tried.includes(peer) && peer.isInService(now)
    if (this.spec.balance === 'ip_hash') {
      const found = byAddress(peers, clientAddress, isCandidate)
      if (found !== undefined) return found
    }
    const candidates = peers.filter(isCandidate)
    return nextByWeight(this.spec.balance === 'least_conn' ? leastLoaded(candidates) : candidates)
  }
}

/** Takes a server of the same settings out of a list. */
function takePeer(known: Peer[], spec: Peer['spec']): Peer | undefined {
  const at = known.findIndex((peer) => isDeepStrictEqual(peer.spec, spec))
  return at === -1 ? undefined : known.splice(at, 1)[0]
}
