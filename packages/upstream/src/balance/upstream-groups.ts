import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@svc/core'
import type { UpstreamSpec } from './upstream-group.ts'
import { UpstreamGroup } from './upstream-group.ts'

/** Groups for addresses that only requests name. Past them the oldest goes. */
const MAX_NAMED_BY_REQUESTS = 1_000

/** Dependencies of groups. */
interface GroupTools {
  readonly clock: Pick<Clock, 'monotonic'>
  /** A group for an address that requests named is forgotten. */
  readonly onForgotten: (group: UpstreamGroup) => void
}

/** The groups of one generation. Those whose configuration is unchanged come from the one before, with all that is known of them. */
export class UpstreamGroups {
  readonly #tools: GroupTools
  readonly #groups = new Map<string, UpstreamGroup>()
  /** Of addresses that only requests name, over all generations. */
  readonly #named: Map<string, UpstreamGroup>

  constructor(specs: readonly UpstreamSpec[], tools: GroupTools, previous?: UpstreamGroups) {
    this.#tools = tools
    this.#named = previous === undefined ? new Map() : previous.#named
    for (const spec of specs) {
      const known = previous?.get(spec.name)
      this.#groups.set(
        spec.name,
        known !== undefined && isDeepStrictEqual(known.spec, spec) ? known : new UpstreamGroup(spec, tools.clock, known),
      )
    }
  }

  /** The group of this name, or undefined. */
  get(name: string): UpstreamGroup | undefined {
    return this.#groups.get(name)
  }

  /** The group of this name, else one for the address itself ("host:port" or "unix:/path"), which only a request names. */
  named(address: string): UpstreamGroup {
    const known = this.#groups.get(address) ?? this.#named.get(address)
    if (known !== undefined) return known
    const group = new UpstreamGroup(singleServer(address), this.#tools.clock)
    this.#named.set(address, group)
    const [oldest] = this.#named.size > MAX_NAMED_BY_REQUESTS ? this.#named : []
    if (oldest !== undefined) {
      this.#named.delete(oldest[0])
      this.#tools.onForgotten(oldest[1])
    }
    return group
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

function singleServer(address: string): UpstreamSpec {
  const server = { address, weight: 1, maxFails: 1, failTimeoutMs: 10_000, isBackup: false, isDown: false }
  return { name: address, balance: 'round_robin', keepalive: undefined, servers: [server] }
}
