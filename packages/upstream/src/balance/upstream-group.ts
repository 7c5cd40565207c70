import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@svc/core'
import type { NameServers, ResolverSpec } from '../resolver/name-servers.ts'
import { byAddress, byChance, byKey, leastLoaded, nextByWeight } from './choices.ts'
import { HashRing } from './hash-ring.ts'
import { Peer, type UpstreamServerSpec } from './peer.ts'
import { ResolvedServers } from './resolved-servers.ts'

/** A group of servers, as configured. */
export interface UpstreamSpec {
  readonly name: string
  readonly balance: Balance
  /** Text of `hash`, whose value requests bring along. */
  readonly hashKey?: readonly (string | { readonly variable: string })[]
  /** Idle connections kept for each worker; undefined: the default of the protocol. */
  readonly keepalive: number | undefined
  /** When a connection is not used again, as far as the group says. */
  readonly reuse?: ReuseLimits
  /** Resolves names of servers at run time. */
  readonly resolver?: ResolverSpec
  readonly servers: readonly UpstreamServerSpec[]
}

/** `random_two`: of two servers at random the less loaded one. */
type Balance = 'round_robin' | 'least_conn' | 'ip_hash' | 'hash' | 'consistent_hash' | 'random' | 'random_two'

/** Limits on the reuse of one connection. */
export interface ReuseLimits {
  readonly idleMs?: number
  readonly requests?: number
  readonly ageMs?: number
}

/** Dependencies of a group. */
interface GroupParts {
  readonly clock: Pick<Clock, 'monotonic'>
  /** For a group with names that are resolved. */
  readonly namesOf: (spec: ResolverSpec) => Pick<NameServers, 'find'>
  /** Servers have left the group. */
  readonly onGone: (group: UpstreamGroup, peers: readonly Peer[]) => void
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
  readonly #parts: GroupParts
  /** In the order of the configuration. */
  #peers: readonly Peer[] = []
  #primaries: readonly Peer[] = []
  #backups: readonly Peer[] = []
  #down: ReadonlySet<Peer> = new Set()
  /** The only server of a group is always tried. */
  #only: Peer | undefined
  /** Of `consistent_hash`. */
  #ring: HashRing | undefined
  readonly #resolved: ResolvedServers | undefined

  /** @param before the group that this one takes the place of: the state of servers goes on */
  constructor(spec: UpstreamSpec, parts: GroupParts, before?: UpstreamGroup) {
    this.spec = spec
    this.#parts = parts
    const { resolver, servers } = spec
    if (resolver === undefined) this.#take(servers, before === undefined ? [] : before.#peers)
    else
      this.#resolved = new ResolvedServers({
        servers,
        names: parts.namesOf(resolver),
        clock: parts.clock,
        onServers: (found) => this.#replace(found),
      })
  }

  /** Finds the servers of a group whose names are resolved. Undefined: they are known. Rejects if there are none. */
  prepare(): Promise<void> | undefined {
    return this.#resolved?.refresh()
  }

  /** How many servers a request may be tried with. */
  get size(): number {
    return this.#peers.length
  }

  /** Milliseconds of a monotonic clock. */
  now(): number {
    return this.#parts.clock.monotonic()
  }

  /** The servers with their state, in the order of the configuration. */
  states(): PeerState[] {
    const now = this.now()
    return this.#peers.map((peer) => ({
      spec: { ...peer.spec, isDown: this.#down.has(peer) },
      isAvoided: this.#only === undefined && !this.#down.has(peer) && !peer.isInService(now),
      active: peer.active,
      fails: peer.fails,
    }))
  }

  /**
   * Chooses a server that was not tried yet. Every choice is to be released. Undefined: none is in service.
   * @param key for groups that choose by it: the address of the client, or the value of `hashKey`
   */
  choose(key: string, tried: readonly Peer[]): Peer | undefined {
    if (this.#only !== undefined) return this.#chooseOnly(this.#only, tried)
    const now = this.now()
    const chosen = this.#from(this.#primaries, key, tried, now) ?? this.#from(this.#backups, key, tried, now)
    chosen?.taken(now)
    return chosen
  }

  /** The request has ended. */
  release(peer: Peer, outcome: PeerOutcome): void {
    peer.active--
    if (this.#only !== undefined) return
    if (outcome === 'failed') peer.failed(this.now())
    else if (outcome === 'answered') peer.succeeded()
  }

  #chooseOnly(peer: Peer, tried: readonly Peer[]): Peer | undefined {
    if (this.#down.has(peer) || peer.isFull || tried.includes(peer)) return undefined
    peer.active++
    return peer
  }

  #from(peers: readonly Peer[], key: string, tried: readonly Peer[], now: number): Peer | undefined {
    const isCandidate = (peer: Peer) => !this.#down.has(peer) && !tried.includes(peer) && peer.isInService(now)
    const { balance } = this.spec
    // Backups are chosen by their weight.
    const found = balance === 'ip_hash' || peers !== this.#backups ? this.#special(peers, key, isCandidate) : undefined
    if (found !== undefined) return found
    const candidates = peers.filter(isCandidate)
    if (balance === 'least_conn') return nextByWeight(leastLoaded(candidates))
    if (balance === 'consistent_hash' && key !== '' && peers !== this.#backups) {
      this.#ring ??= new HashRing(peers)
      const ofKey = this.#ring.find(key, candidates)
      if (ofKey.length > 0) return nextByWeight(ofKey)
    }
    return nextByWeight(candidates)
  }

  /** The choice of the methods that look at one server after another. */
  #special(peers: readonly Peer[], key: string, isCandidate: (peer: Peer) => boolean): Peer | undefined {
    switch (this.spec.balance) {
      case 'ip_hash':
        return byAddress(peers, key, isCandidate)
      case 'hash':
        return key === '' ? undefined : byKey(peers, key, isCandidate)
      case 'random':
      case 'random_two':
        return byChance(peers, this.spec.balance === 'random_two', isCandidate)
      default:
        return undefined
    }
  }

  /** Takes the servers that the names stand for now. */
  #replace(servers: readonly UpstreamServerSpec[]): void {
    const before = this.#peers
    this.#take(servers, before)
    const kept = new Set(this.#peers)
    const gone = before.filter((peer) => !kept.has(peer))
    if (gone.length > 0) this.#parts.onGone(this, gone)
  }

  #take(servers: readonly UpstreamServerSpec[], before: readonly Peer[]): void {
    const known = [...before]
    const peers = servers.map(({ isDown, ...server }) => ({ isDown, peer: takePeer(known, server) ?? new Peer(server) }))
    this.#peers = peers.map(({ peer }) => peer)
    this.#primaries = this.#peers.filter((peer) => !peer.spec.isBackup)
    this.#backups = this.#peers.filter((peer) => peer.spec.isBackup)
    this.#down = new Set(peers.flatMap(({ isDown, peer }) => (isDown ? [peer] : [])))
    this.#only = this.size === 1 ? this.#peers[0] : undefined
    this.#ring = undefined
  }
}

/** Takes a server of the same settings out of a list. */
function takePeer(known: Peer[], spec: Peer['spec']): Peer | undefined {
  const at = known.findIndex((peer) => isDeepStrictEqual(peer.spec, spec))
  return at === -1 ? undefined : known.splice(at, 1)[0]
}
