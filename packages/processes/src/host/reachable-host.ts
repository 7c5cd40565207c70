import type { CallOptions, ReplyOf, RequestOf } from '@svc/core'
import type { HostEndpoint, hostCommandMethods } from '@svc/protocol'

type Commands = typeof hostCommandMethods

/** Threads of one site in one host. */
export interface PoolStatus {
  readonly site: string
  readonly threads: number
  readonly active: number
  readonly queued: number
}

/** A render host that serves, started by this process or by the unit of its site. */
export interface ReachableHost {
  readonly id: string
  readonly pid: number
  readonly peer: {
    call<Name extends keyof Commands & string>(
      name: Name,
      request: RequestOf<Commands[Name]>,
      options: CallOptions,
    ): Promise<ReplyOf<Commands[Name]>>
  }
  /** As of its last pong. */
  readonly pools: readonly PoolStatus[]
}

/** Returns the ids of the hosts that render a site: its own if it has one, otherwise the shared ones. */
export function hostsServing(endpoints: readonly HostEndpoint[], site: string): Set<string> {
  const own = endpoints.filter(({ sites }) => sites !== '*' && sites.includes(site))
  const found = own.length > 0 ? own : endpoints.filter(({ sites }) => sites === '*')
  return new Set(found.map(({ id }) => id))
}
