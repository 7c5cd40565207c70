import type { CallOptions, ReplyOf, RequestOf } from '@svc/core'
import type { hostCommandMethods } from '@svc/protocol'
import type { PoolStatus, RunningHost } from './host-process.ts'

type Commands = typeof hostCommandMethods

/** The way to a render host. */
export interface HostCaller {
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
