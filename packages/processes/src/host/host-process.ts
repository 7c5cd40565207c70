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

/** One render host process: where it listens, and what was last heard of it. */
export interface RunningHost {
  readonly id: string
  readonly process: HostProcess
  readonly socket: string
  readonly token: string
  generation: number
  /** Whether it has built a generation, and so may serve. */
  hasPrepared: boolean
  rssBytes: number
  pools: readonly PoolStatus[]
  stopWatch: () => void
}

const TOKEN_BYTES = 32

/** Starts the program of a render host under a new id, to listen at a place of its own. */
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
 * Makes a host listen and serve what should be served by the time it is there. `join` gives the state of purges the first time
 * that it is asked.
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

/** Has a host build a generation. `purges` only at its first: it hears of later ones as they come. */
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

/** A host as it takes part in purges: it keeps no entries in memory. */
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

/** Watches that a host answers, and that it stays within its memory; `onLost` says why it has to go. */
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
      // A limit below what every host needs must not make them replace one another without a pause.
      const isYoung = clock.monotonic() - readyAt < timings.backoff.maxMs
      if (rssBytes > memoryLimitBytes() && !isYoung) onLost('memory')
    },
    onHang: () => onLost('hang'),
  })
}
