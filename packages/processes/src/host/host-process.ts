import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PurgeState } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { HostSpec } from '@svc/protocol'
import { watchHeartbeat } from '../child/heartbeat.ts'
import type { HostProcess } from '../child/launch.ts'
import type { SupervisorTimings } from '../child/timings.ts'
import type { PurgeMember } from '../purges/purge-member.ts'

/** Threads of one site in one host. */
export interface PoolStatus {
  readonly site: string
  readonly threads: number
  readonly active: number
  readonly queued: number
}

/** One render host process: its address and its last reported state. */
export interface RunningHost {
  readonly id: string
  readonly process: HostProcess
  readonly socket: string
  readonly token: string
  generation: number
  /** True if it has built a generation and so may serve. */
  hasPrepared: boolean
  rssBytes: number
  pools: readonly PoolStatus[]
  stopWatch: () => void
}

const TOKEN_BYTES = 32

/** Starts the program of a render host with an id and a socket of its own. */
export function forkHost(id: string, runDir: string, launch: (id: string) => HostProcess): RunningHost {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  return startedHost(launch(id), { id, socket: join(runDir, `${id}.sock`), token })
}

/** A host that has just been started. */
export function startedHost(process: HostProcess, place: Pick<RunningHost, 'id' | 'socket' | 'token'>): RunningHost {
  return {
    ...place,
    process,
    generation: 0,
    hasPrepared: false,
    rssBytes: 0,
    pools: [],
    stopWatch: () => undefined,
  }
}

/**
 * Makes a host listen and brings it to the target of the moment when it is ready. `join` returns the state of purges on its first
 * call.
 */
export async function bringHost(
  host: RunningHost,
  target: () => HostSpec,
  join: () => PurgeState | undefined,
  timings: SupervisorTimings,
): Promise<void> {
  const { peer } = host.process
  await rm(host.socket, { force: true })
  await peer.call('start', { id: host.id, socket: host.socket, token: host.token }, { timeoutMs: timings.startTimeoutMs })
  do {
    const spec = target()
    await prepareHost(host, spec, timings, join())
    await commitHost(host, spec.generation, timings)
  } while (host.generation !== target().generation)
}

/** Has a host build a generation. `purges` only for its first: it gets later purges as they come. */
export async function prepareHost(
  host: RunningHost,
  spec: HostSpec,
  timings: SupervisorTimings,
  purges?: PurgeState,
): Promise<void> {
  const known = purges === undefined ? {} : { purges }
  await host.process.peer.call('prepare', { spec, ...known }, { timeoutMs: timings.prepareTimeoutMs })
  host.hasPrepared = true
}

/** Returns a host as a member of purges: it keeps no entries in memory. */
export function purgeMemberOf(host: RunningHost): PurgeMember {
  const { process } = host
  return {
    name: process.name,
    isBooting: !host.hasPrepared,
    purge: async (purge) => {
      await process.peer.call('purge', { purge }, { timeoutMs: Number.POSITIVE_INFINITY })
      return 0
    },
    settled: (number) => process.peer.notify('purgeSettled', { number }),
    kill: () => process.kill(),
    exited: process.exited,
  }
}

/** Has a host swap to the generation that it prepared. */
export async function commitHost(host: RunningHost, generation: number, timings: SupervisorTimings): Promise<void> {
  await host.process.peer.call('commit', { generation }, { timeoutMs: timings.commitTimeoutMs })
  host.generation = generation
}

/** Watches the responses and the memory of a host; `onLost` gets the reason to replace it. */
export function watchHost(
  host: RunningHost,
  timings: SupervisorTimings,
  clock: Clock,
  memoryLimitBytes: () => number,
  onLost: (reason: 'memory' | 'hang') => void,
): void {
  const readyAt = clock.monotonic()
  host.stopWatch = watchHeartbeat({
    ping: (timeoutMs) => host.process.peer.call('ping', undefined, { timeoutMs }),
    intervalMs: timings.pingIntervalMs,
    timeoutMs: timings.pingTimeoutMs,
    clock,
    onPong: ({ rssBytes, pools }) => {
      host.rssBytes = rssBytes
      host.pools = pools
      // A limit below the memory that every host needs must not cause replacements in a loop.
      const isYoung = clock.monotonic() - readyAt < timings.backoff.maxMs
      if (rssBytes > memoryLimitBytes() && !isYoung) onLost('memory')
    },
    onHang: () => onLost('hang'),
  })
}
