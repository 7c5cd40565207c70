import { renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Purge, PurgeState } from '@svc/cache'
import { asError, type Clock, type Deferred, deferred } from '@svc/core'
import type { HostProcess, SupervisorTimings } from '@svc/processes'
import {
  askMembers,
  bringHost,
  commitHost,
  type Death,
  describeExit,
  prepareHost,
  purgeMemberOf,
  type RunningHost,
  Slot,
  SupervisorError,
  startedHost,
  warmLike,
  watchHost,
} from '@svc/processes'
import type { HostSpec } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { UnitPurges } from './unit-purges.ts'

/** Options of a `UnitHost`. */
interface UnitHostOptions {
  readonly launch: (id: string) => HostProcess
  /** Socket on which workers reach the host. */
  readonly socket: string
  readonly token: () => string
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** Another host listens now. Resolves when workers send nothing new to the previous one. Never rejects. */
  readonly onReplaced: () => Promise<void>
}

const MEGABYTE = 1024 * 1024
/** A starting host listens at the socket's name plus a digit, until it takes over. */
const STARTING_NAMES = 10
/** Share of the time that the master gives the whole unit to note a purge. */
const ACK_SHARE = 0.8

/**
 * The render host of a unit: restarted when it ends, replaced by a ready successor when it must end, and, while there is no master,
 * barred from the shared store, since it gets no purges.
 */
export class UnitHost {
  /** Called for each configuration that comes into service. */
  onTarget: (spec: HostSpec) => void = () => undefined
  readonly #options: UnitHostOptions
  readonly #slot: Slot<HostProcess>
  readonly #hosts = new WeakMap<HostProcess, RunningHost>()
  /** Processes that get purges, until their end. */
  readonly #joined = new Set<RunningHost>()
  /** Last known purge of hosts at the time when they were cut off from purges. */
  readonly #left = new WeakMap<RunningHost, { readonly boot: string; readonly last: number }>()
  #target: HostSpec
  #purges: UnitPurges | undefined
  #ready: Deferred<void> = deferred()
  #launched = 0
  #replacing: Promise<void> | undefined
  #hasServed = false
  #announced: Promise<void> = Promise.resolve()

  constructor(target: HostSpec, options: UnitHostOptions) {
    this.#target = target
    this.#options = options
    this.#ready.promise.catch(() => undefined)
    const { timings, clock, logger } = options
    const driver = {
      launch: () => this.#launch(),
      bring: (process: HostProcess) => this.#bring(this.#of(process)),
      ready: (process: HostProcess) => this.#becameReady(this.#of(process)),
      died: (death: Death<HostProcess>) => this.#died(death),
      warm: (process: HostProcess, old: HostProcess) => warmLike(this.#of(process), this.#of(old), logger),
      retire: async (process: HostProcess) => {
        await this.#announced
        await process.peer.call('drain', { timeoutMs: timings.prepareTimeoutMs }, { timeoutMs: timings.prepareTimeoutMs + 1_000 })
      },
    }
    this.#slot = new Slot(driver, timings, clock)
  }

  #take(spec: HostSpec): void {
    this.#target = spec
    this.onTarget(spec)
  }

  /** Starts the host. Resolves when it listens. @throws SUP_START_FAILED if it ends repeatedly before that */
  start(): Promise<void> {
    this.#slot.start()
    return this.#ready.promise
  }

  /** The configuration in service. */
  get target(): HostSpec {
    return this.#target
  }

  /** The host, if it serves. */
  get host(): RunningHost | undefined {
    const process = this.#slot.readyProcess
    return process === undefined ? undefined : this.#of(process)
  }

  /** @throws SUP_NOT_READY */
  require(): RunningHost {
    if (this.host === undefined) throw new SupervisorError('SUP_NOT_READY', 'the render host of the site is starting')
    return this.host
  }

  /** Receives purges from now on. Resolves when a host that knows them serves the configuration. */
  async attach(spec: HostSpec, purges: PurgeState, boot: string): Promise<void> {
    const known = new UnitPurges(purges, boot)
    this.#purges = known
    this.#take(spec)
    await this.#ready.promise
    let host = this.require()
    while (this.#purges === known && !this.#joined.has(host) && !this.#isCurrent(host, known)) {
      await this.replace()
      host = this.require()
    }
    const { timings } = this.#options
    await prepareHost(host, spec, timings, this.#purges === known ? this.#join(host) : undefined)
    await commitHost(host, spec.generation, timings)
  }

  /** True if a host's memory of the store is still valid: there was no purge since. */
  #isCurrent(host: RunningHost, { boot, last }: UnitPurges): boolean {
    const left = this.#left.get(host)
    return left === undefined || (left.boot === boot && left.last === last)
  }

  /** Called when purges stop arriving. */
  detach(): void {
    const known = this.#purges
    if (known === undefined) return
    this.#purges = undefined
    for (const host of this.#joined) {
      this.#left.set(host, { boot: known.boot, last: known.last })
      host.process.peer.notify('suspend', undefined)
    }
    this.#joined.clear()
  }

  /** Has the host serve a configuration. */
  async apply(spec: HostSpec): Promise<void> {
    this.#take(spec)
    const host = this.require()
    await prepareHost(host, spec, this.#options.timings)
    await commitHost(host, spec.generation, this.#options.timings)
  }

  /** Has the host build a configuration, which hosts that start later do not serve before `commit`. */
  async prepare(spec: HostSpec): Promise<void> {
    await prepareHost(this.require(), spec, this.#options.timings)
  }

  async commit(spec: HostSpec): Promise<void> {
    this.#take(spec)
    await commitHost(this.require(), spec.generation, this.#options.timings)
  }

  /** Resolves when no host of the unit uses or makes entries any more that the purge matches. */
  async purge(purge: Purge): Promise<void> {
    const { clock, logger, timings } = this.#options
    this.#purges?.add(purge)
    const members = Array.from(this.#joined, purgeMemberOf)
    await askMembers(members, purge, { clock, logger, ackTimeoutMs: timings.purgeTimeoutMs * ACK_SHARE })
  }

  purgeSettled(number: number): void {
    this.#purges?.settled(number)
    for (const { process } of this.#joined) process.peer.notify('purgeSettled', { number })
  }

  /** Replaces the host by a new one; calls during a replacement share it. */
  replace(): Promise<void> {
    this.#replacing ??= this.#slot.replace().finally(() => {
      this.#replacing = undefined
    })
    return this.#replacing
  }

  /** Drains renders for at most `timeoutMs` and ends the host. */
  async drain(timeoutMs: number): Promise<void> {
    const { exitGraceMs } = this.#options.timings
    this.#slot.beginDrain()
    // It may have ended, and is ended below whatever it responds.
    await this.host?.process.peer.call('drain', { timeoutMs }, { timeoutMs: timeoutMs + exitGraceMs }).catch(() => undefined)
    await this.stop()
  }

  /** Ends the host at once. */
  async stop(): Promise<void> {
    const { exitGraceMs } = this.#options.timings
    this.#ready.reject(new SupervisorError('SUP_STOPPED', 'the start was aborted'))
    await this.#slot.stop(exitGraceMs)
    if (this.#hasServed) await rm(this.#options.socket, { force: true })
  }

  cut(): void {
    this.#slot.beginDrain()
    this.#slot.process?.kill()
  }

  #of(process: HostProcess): RunningHost {
    return this.#hosts.get(process) as RunningHost
  }

  readonly #problem = (error: unknown): void => {
    this.#options.logger.error({ err: asError(error) }, 'render host bookkeeping failed')
  }

  #launch(): HostProcess {
    const { launch, socket, token } = this.#options
    const number = ++this.#launched
    const id = `host-${number}`
    const process = launch(id)
    const host = startedHost(process, { id, socket: `${socket}${number % STARTING_NAMES}`, token: token() })
    this.#hosts.set(process, host)
    process.exited
      .then(() => {
        host.stopWatch()
        this.#joined.delete(host)
        return rm(host.socket, { force: true })
      })
      .catch(this.#problem)
    return process
  }

  async #bring(host: RunningHost): Promise<void> {
    await bringHost(
      host,
      () => this.#target,
      () => this.#join(host),
      this.#options.timings,
    )
  }

  /** From the turn in which a host gets the purges so far, it gets every later one. */
  #join(host: RunningHost): PurgeState | undefined {
    if (this.#purges === undefined) {
      host.process.peer.notify('suspend', undefined)
      return undefined
    }
    if (this.#joined.has(host)) return undefined
    if (!host.process.hasExited) this.#joined.add(host)
    return this.#purges.state()
  }

  #becameReady(host: RunningHost): void {
    const { timings, clock, logger, socket, onReplaced } = this.#options
    // Atomic: a client reaches the old host or the new one.
    renameSync(host.socket, socket)
    const limit = () => this.#target.config.render.host_memory_limit_mb * MEGABYTE
    watchHost(host, timings, clock, limit, (reason) => {
      logger.error({ host: host.id, host_pid: host.process.pid, reason, rss_bytes: host.rssBytes }, 'replacing a render host')
      if (reason === 'hang') host.process.kill()
      else this.replace().catch(this.#problem)
    })
    if (this.#hasServed) this.#announced = onReplaced()
    this.#hasServed = true
    this.#ready.resolve()
  }

  #died({ process, exit, cause, failures, retryInMs }: Death<HostProcess>): void {
    const { logger, timings } = this.#options
    const reason = cause === undefined ? describeExit(exit) : cause.message
    logger.error({ host_pid: process.pid, failures, retry_in_ms: retryInMs }, `render host died: ${reason}`)
    if (this.#hasServed || failures < timings.startAttempts) return
    this.#ready.reject(
      new SupervisorError('SUP_START_FAILED', `the render host ended ${failures} times before it was ready: ${reason}`, {
        cause,
      }),
    )
  }
}
