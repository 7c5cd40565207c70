import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@svc/core'
import { NameServers, type ResolverSpec } from '../resolver/name-servers.ts'
import type { Peer } from './peer.ts'
import type { UpstreamSpec } from './upstream-group.ts'
import { UpstreamGroup } from './upstream-group.ts'

/** Groups for addresses that only requests name. Past them the oldest goes. */
const MAX_NAMED_BY_REQUESTS = 1_000

/** Name servers of configurations; past them the oldest go. */
const MAX_RESOLVERS = 100

/** Dependencies of groups. */
interface GroupTools {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Servers have left a group whose names are resolved. */
  readonly onGone: (group: UpstreamGroup, peers: readonly Peer[]) => void
  /** A group for an address that requests named is forgotten. */
  readonly onForgotten: (group: UpstreamGroup) => void
}

/** The groups of one generation. Those whose configuration is unchanged come from the one before, with all that is known of them. */
export class UpstreamGroups {
  readonly #tools: GroupTools
  readonly #groups = new Map<string, UpstreamGroup>()
  /** Of addresses that only requests name, over all generations. */
  readonly #named: Map<string, UpstreamGroup>
  /** By their settings, over all generations. */
  readonly #names: Map<string, NameServers>

  constructor(specs: readonly UpstreamSpec[], tools: GroupTools, previous?: UpstreamGroups) {
    this.#tools = tools
    this.#named = previous === undefined ? new Map() : previous.#named
    this.#names = previous === undefined ? new Map() : previous.#names
    for (const spec of specs) {
      const known = previous?.get(spec.name)
      this.#groups.set(
        spec.name,
        known !== undefined && isDeepStrictEqual(known.spec, spec) ? known : new UpstreamGroup(spec, this.#parts, known),
      )
    }
  }

  /** The group of this name, or undefined. */
  get(name: string): UpstreamGroup | undefined {
    return this.#groups.get(name)
  }

  /**
   * The group of this name, else one for the address itself ("host:port" or "unix:/path"), which only a request names.
   * @param resolver finds its addresses; undefined: the operating system does
   */
  named(address: string, resolver?: ResolverSpec): UpstreamGroup {
    const name = resolver === undefined ? address : `${address} ${JSON.stringify(resolver)}`
    const known = this.#groups.get(address) ?? this.#named.get(name)
    if (known !== undefined) return known
    const group = new UpstreamGroup(singleServer(address, resolver), this.#parts)
    this.#named.set(name, group)
    const [oldest] = this.#named.size > MAX_NAMED_BY_REQUESTS ? this.#named : []
    if (oldest !== undefined) {
      this.#named.delete(oldest[0])
      this.#tools.onForgotten(oldest[1])
    }
    return group
  }

  get #parts() {
    const { clock, onGone } = this.#tools
    return { clock, onGone, namesOf: (spec: ResolverSpec) => this.#namesOf(spec) }
  }

  #namesOf(spec: ResolverSpec): NameServers {
    const key = JSON.stringify(spec)
    const names = this.#names.get(key) ?? new NameServers(spec, this.#tools.clock)
    this.#names.delete(key)
    this.#names.set(key, names)
    const [oldest] = this.#names.size > MAX_RESOLVERS ? this.#names.keys() : []
    if (oldest !== undefined) this.#names.delete(oldest)
    return names
  }

  /** Groups that another generation does not use. */
  leftBy(next: UpstreamGroups): UpstreamGroup[] {
    const kept = new Set(next.all())
    return this.all().filter((group) => !kept.has(group))
  }

  /** All that are configured, in their order. */
  all(): UpstreamGroup[] {
    return [...this.#groups.values()]
  }
}

function singleServer(address: string, resolver: ResolverSpec | undefined): UpstreamSpec {
  const server = { address, weight: 1, maxFails: 1, failTimeoutMs: 10_000, isBackup: false, isDown: false }
  const spec = { name: address, balance: 'round_robin', keepalive: undefined } as const
  if (resolver === undefined) return { ...spec, servers: [server] }
  return { ...spec, resolver, servers: [{ ...server, isResolved: true }] }
}
