import type { CallOptions, ReplyOf, RequestOf } from '@svc/core'
import type { HostEndpoint, hostCommandMethods } from '@svc/protocol'
import type { PoolStatus, RunningHost } from './host-process.ts'

type Commands = typeof hostCommandMethods

/** The way to a render host. */
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
  /** As of its last sign of life. */
  readonly pools: readonly PoolStatus[]
}

/** A host of this process's own, as commands reach it. */
export function reachable({ id, process, pools }: RunningHost): ReachableHost {
  return { id, pid: process.pid, peer: process.peer, pools }
}

/** The ids of the hosts that render a site: its own where it has one, else those that all others share. */
export function hostsServing(endpoints: readonly HostEndpoint[], site: string): Set<string> {
  const own = endpoints.filter(({ sites }) => sites !== '*' && sites.includes(site))
  const found = own.length > 0 ? own : endpoints.filter(({ sites }) => sites === '*')
  return new Set(found.map(({ id }) => id))
}
