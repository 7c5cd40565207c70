import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PurgeState } from '@svc/cache'
import type { CallOptions, Clock, ReplyOf, RequestOf } from '@svc/core'
import type { HostEndpoint, HostSpec, hostCommandMethods } from '@svc/protocol'
import { watchHeartbeat } from '../child/heartbeat.ts'
import type { HostProcess } from '../child/launch.ts'
import type { SupervisorTimings } from '../child/timings.ts'
import type { PurgeMember } from '../purges/purge-member.ts'

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

const TOKEN_BYTES = 32
const MEGABYTE = 1024 * 1024

/** Address of a render host. */
interface HostPlace {
  readonly id: string
  readonly socket: string
  readonly token: string
}

/** Returns an address in the run directory with a token of its own. */
export function hostPlace(id: string, runDir: string): HostPlace {
  return { id, socket: join(runDir, `${id}.sock`), token: randomBytes(TOKEN_BYTES).toString('base64url') }
}

/** A render host that this process has started: its address, its last reported state and the calls that put it into service. */
export class RunningHost implements ReachableHost {
  readonly id: string
  readonly process: HostProcess
  readonly socket: string
  readonly token: string
  generation = 0
  rssBytes = 0
  pools: readonly PoolStatus[] = []
  stopWatch: () => void = () => undefined
  readonly #timings: SupervisorTimings
  /** True if it has built a generation and so may serve. */
  #hasPrepared = false

  constructor(process: HostProcess, { id, socket, token }: HostPlace, timings: SupervisorTimings) {
    this.process = process
    this.id = id
    this.socket = socket
    this.token = token
    this.#timings = timings
  }

  get pid(): number {
    return this.process.pid
  }

  get peer(): HostProcess['peer'] {
    return this.process.peer
  }

  /** Makes it listen and brings it to the target of the moment when it is ready. `join` returns the state of purges on its first call. */
  async bring(target: () => HostSpec, join: () => PurgeState | undefined): Promise<void> {
    const { id, socket, token } = this
    await rm(socket, { force: true })
    await this.peer.call('start', { id, socket, token }, { timeoutMs: this.#timings.startTimeoutMs })
    do {
      const spec = target()
      await this.prepare(spec, join())
      await this.commit(spec.generation)
    } while (this.generation !== target().generation)
  }

  /** Has it build a generation. `purges` only for its first: it gets later purges as they come. */
  async prepare(spec: HostSpec, purges?: PurgeState): Promise<void> {
    const known = purges === undefined ? {} : { purges }
    await this.peer.call('prepare', { spec, ...known }, { timeoutMs: this.#timings.prepareTimeoutMs })
    this.#hasPrepared = true
  }

  /** Has it swap to the generation that it prepared. */
  async commit(generation: number): Promise<void> {
    await this.peer.call('commit', { generation }, { timeoutMs: this.#timings.commitTimeoutMs })
    this.generation = generation
  }

  /** Lets renders end, for at most `timeoutMs`. Rejects if it does not confirm that in time. */
  async drain(timeoutMs: number): Promise<void> {
    await this.peer.call('drain', { timeoutMs }, { timeoutMs: timeoutMs + this.#timings.exitGraceMs })
  }

  /** The host as a member of purges: it keeps no entries in memory. */
  get purgeMember(): PurgeMember {
    const { process, peer } = this
    return {
      name: process.name,
      isBooting: !this.#hasPrepared,
      purge: async (purge) => {
        await peer.call('purge', { purge }, { timeoutMs: Number.POSITIVE_INFINITY })
        return 0
      },
      settled: (number) => peer.notify('purgeSettled', { number }),
      kill: () => process.kill(),
      exited: process.exited,
    }
  }

  /** Watches its responses and its memory; `onLost` gets the reason to replace it. */
  watch(clock: Clock, target: () => HostSpec, onLost: (reason: 'memory' | 'hang') => void): void {
    const readyAt = clock.monotonic()
    const { pingIntervalMs: intervalMs, pingTimeoutMs: timeoutMs, backoff } = this.#timings
    this.stopWatch = watchHeartbeat({
      ping: (limitMs) => this.peer.call('ping', undefined, { timeoutMs: limitMs }),
      intervalMs,
      timeoutMs,
      clock,
      onPong: ({ rssBytes, pools }) => {
        this.rssBytes = rssBytes
        this.pools = pools
        // A limit below the memory that every host needs must not cause replacements in a loop.
        const isYoung = clock.monotonic() - readyAt < backoff.maxMs
        if (rssBytes > target().config.render.host_memory_limit_mb * MEGABYTE && !isYoung) onLost('memory')
      },
      onHang: () => onLost('hang'),
    })
  }
}
