import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Handlers } from '@svc/core'
import type { GenerationSpec, hostParentMethods } from '@svc/protocol'
import { watchHeartbeat } from '../process/heartbeat.ts'
import type { HostProcess } from '../process/launch.ts'
import type { SupervisorTimings } from './timings.ts'

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
  rssBytes: number
  pools: readonly PoolStatus[]
  stopWatch: () => void
}

const TOKEN_BYTES = 32

/** Starts the program of a render host under a new id. */
export function forkHost(
  id: string,
  runDir: string,
  launch: (id: string, handlers: Handlers<typeof hostParentMethods>) => HostProcess,
  onIsolateLost: (site: string) => void,
): RunningHost {
  const process = launch(id, {
    isolateLost: ({ site }) => {
      onIsolateLost(site)
      return undefined
    },
  })
  return {
    id,
    process,
    socket: join(runDir, `${id}.sock`),
    token: randomBytes(TOKEN_BYTES).toString('base64url'),
    generation: 0,
    rssBytes: 0,
    pools: [],
    stopWatch: () => undefined,
  }
}

/** Makes a host listen and serve what should be served by the time it is there. */
export async function bringHost(host: RunningHost, target: () => GenerationSpec, timings: SupervisorTimings): Promise<void> {
  const { peer } = host.process
  await rm(host.socket, { force: true })
  await peer.call('start', { id: host.id, socket: host.socket, token: host.token }, { timeoutMs: timings.startTimeoutMs })
  do {
    const spec = target()
    await prepareHost(host, spec, timings)
    await commitHost(host, spec.generation, timings)
  } while (host.generation !== target().generation)
}

/** Has a host build a generation. */
export async function prepareHost(host: RunningHost, spec: GenerationSpec, timings: SupervisorTimings): Promise<void> {
  await host.process.peer.call('prepare', { spec }, { timeoutMs: timings.prepareTimeoutMs })
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
