import type { CallOptions, ReplyOf, RequestOf } from '@svc/core'
import type { HostEndpoint, hostCommandMethods } from '@svc/protocol'
import type { PoolStatus, RunningHost } from './host-process.ts'

type Commands = typeof hostCommandMethods

/** Caller of a render host's methods. */
interface HostCaller {
  call<Name extends keyof Commands & string>(
    name: Name,
    request: RequestOf<Commands[Name]>,
    options: CallOptions,
  ): Promise<ReplyOf<Commands[Name]>>
}

/** A render host that serves, started by this process or by the unit of its site. */
export interface ReachableHost {
  readonly id: string
  readonly pid: number
  readonly peer: HostCaller
  /** As of its last pong. */
  readonly pools: readonly PoolStatus[]
}

/** Returns a host of this process as a target of commands. */
export function reachable({ id, process, pools }: RunningHost): ReachableHost {
  return { id, pid: process.pid, peer: process.peer, pools }
}

/** Returns the ids of the hosts that render a site: its own if it has one, otherwise the shared ones. */
export function hostsServing(endpoints: readonly HostEndpoint[], site: string): Set<string> {
  const own = endpoints.filter(({ sites }) => sites !== '*' && sites.includes(site))
  const found = own.length > 0 ? own : endpoints.filter(({ sites }) => sites === '*')
  return new Set(found.map(({ id }) => id))
}
