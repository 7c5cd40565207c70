import { rm } from 'node:fs/promises'
import type { PurgeState } from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import type { HostSpec } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { type Death, Slot } from '../child/slot.ts'
import type { SupervisorTimings } from '../child/timings.ts'
import type { PurgeMember } from '../purges/purge-member.ts'
import { warmLike } from './host-commands.ts'
import type { RunningHost } from './running-host.ts'

/** The owner of render hosts: the fleet of the master, or the unit of a site. */
interface HostOwner {
  /** Starts the program of a host. */
  readonly launch: () => RunningHost
  readonly target: () => HostSpec
  /** The purges so far, for a host that joins; undefined: purges do not arrive at the moment. */
  readonly purgeState: () => PurgeState | undefined
  readonly onReady: (host: RunningHost) => void
  readonly onDeath: (death: Death<RunningHost>) => void
  /** A host that was replaced has done its work, and ends when this resolves. Never rejects. */
  readonly onDrained?: (host: RunningHost) => Promise<void>
  /** A host has ended, for whatever reason. */
  readonly onExit?: (host: RunningHost) => void
  /** Has workers send new work to the successor of a host. Resolves when they send the host nothing new. */
  readonly handOver: (host: RunningHost, successor: RunningHost) => Promise<void>
  /** Replaces a host that uses too much memory. Never rejects. */
  readonly replace: (host: RunningHost) => Promise<void>
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
}

/** Makes slots of render hosts: starts the hosts, brings them to the target, watches them, and keeps those that get purges. */
export class HostSlots {
  readonly #owner: HostOwner
  /** Hosts that know the state of purges, until their end. */
  readonly #joined = new Set<RunningHost>()
  readonly #cleanups = new WeakMap<RunningHost, Promise<void>>()

  constructor(owner: HostOwner) {
    this.#owner = owner
  }

  /** Hosts that get every purge. */
  get joined(): ReadonlySet<RunningHost> {
    return this.#joined
  }

  get purgeMembers(): PurgeMember[] {
    return Array.from(this.#joined, (host) => host.purgeMember)
  }

  make(): Slot<RunningHost> {
    const { target, onDeath, onDrained, handOver, timings, clock, logger } = this.#owner
    const driver = {
      launch: () => this.#launch(),
      bring: (host: RunningHost) => host.bring(target, () => this.join(host)),
      ready: (host: RunningHost) => this.#becameReady(host),
      died: onDeath,
      warm: (host: RunningHost, old: RunningHost) => warmLike(host, old, logger),
      retire: async (host: RunningHost, successor: RunningHost) => {
        await handOver(host, successor)
        await host.drain(timings.prepareTimeoutMs)
        await onDrained?.(host)
      },
    }
    return new Slot(driver, timings, clock)
  }

  /**
   * Returns the purges so far for a host: from this turn on it gets every later one. Undefined: it has got them, or purges do not
   * arrive.
   */
  join(host: RunningHost): PurgeState | undefined {
    if (this.#joined.has(host)) return undefined
    const state = this.#owner.purgeState()
    if (state === undefined) host.peer.notify('suspend', undefined)
    else if (!host.process.hasExited) this.#joined.add(host)
    return state
  }

  /** Called when purges stop arriving: no host may use the shared store any more. */
  suspend(): void {
    for (const host of this.#joined) host.peer.notify('suspend', undefined)
    this.#joined.clear()
  }

  /** Ends the hosts of slots at once. Resolves when nothing of them is left. */
  async stop(slots: readonly Slot<RunningHost>[]): Promise<void> {
    const ending = slots.flatMap((slot) => slot.current ?? [])
    await Promise.all(slots.map((slot) => slot.stop(this.#owner.timings.exitGraceMs)))
    await Promise.all(ending.map((host) => this.#cleanups.get(host)))
  }

  #launch(): RunningHost {
    const { launch, onExit, logger } = this.#owner
    const host = launch()
    const cleanUp = async () => {
      await host.process.exited
      host.stopWatch()
      this.#joined.delete(host)
      onExit?.(host)
      await rm(host.socket, { force: true })
    }
    const cleaned = cleanUp().catch((error) => logger.error({ err: asError(error) }, 'failed to clean up after a render host'))
    this.#cleanups.set(host, cleaned)
    return host
  }

  #becameReady(host: RunningHost): void {
    const { target, onReady, replace, clock, logger } = this.#owner
    onReady(host)
    host.watch(clock, target, (reason) => {
      logger.error({ host: host.id, host_pid: host.pid, reason, rss_bytes: host.rssBytes }, 'replacing a render host')
      if (reason === 'memory') void replace(host)
      else host.process.kill()
    })
  }
}
