import { renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Purge, PurgeState } from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import type { HostProcess, SupervisorTimings } from '@svc/processes'
import { askMembers, type Death, describeExit, HostSlots, RunningHost, type Slot, SupervisorError } from '@svc/processes'
import type { HostSpec } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** The unit's state of purges while it is connected, for the render hosts that it starts. */
export class UnitPurges {
  readonly #unsettled = new Map<number, Purge>()
  /** Identifies the master's process that sent this state. */
  readonly boot: string
  #last: number

  constructor({ last, unsettled }: PurgeState, boot: string) {
    this.boot = boot
    this.#last = last
    for (const purge of unsettled) this.#unsettled.set(purge.number, purge)
  }

  get last(): number {
    return this.#last
  }

  add(purge: Purge): void {
    this.#last = Math.max(this.#last, purge.number)
    this.#unsettled.set(purge.number, purge)
  }

  settled(number: number): void {
    this.#unsettled.delete(number)
  }

  state(): PurgeState {
    return { last: this.#last, unsettled: [...this.#unsettled.values()] }
  }
}

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
  readonly #hosts: HostSlots
  readonly #slot: Slot<RunningHost>
  /** Last known purge of hosts at the time when they were cut off from purges. */
  readonly #left = new WeakMap<RunningHost, { readonly boot: string; readonly last: number }>()
  #target: HostSpec
  #purges: UnitPurges | undefined
  #ready = Promise.withResolvers<void>()
  #launched = 0
  #replacing: Promise<void> | undefined
  #hasServed = false
  #announced: Promise<void> = Promise.resolve()

  constructor(target: HostSpec, options: UnitHostOptions) {
    this.#target = target
    this.#options = options
    this.#ready.promise.catch(() => undefined)
    const { timings, clock, logger } = options
    this.#hosts = new HostSlots({
      launch: () => this.#launch(),
      target: () => this.#target,
      purgeState: () => this.#purges?.state(),
      onReady: (host) => this.#becameReady(host),
      onDeath: (death) => this.#died(death),
      handOver: () => this.#announced,
      replace: () => this.replace().catch((error) => logger.error({ err: asError(error) }, 'failed to replace the render host')),
      timings,
      clock,
      logger,
    })
    this.#slot = this.#hosts.make()
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
    return this.#slot.ready
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
    while (this.#purges === known && !this.#hosts.joined.has(host) && !this.#isCurrent(host, known)) {
      await this.replace()
      host = this.require()
    }
    await host.prepare(spec, this.#purges === known ? this.#hosts.join(host) : undefined)
    await host.commit(spec.generation)
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
    for (const host of this.#hosts.joined) this.#left.set(host, { boot: known.boot, last: known.last })
    this.#hosts.suspend()
  }

  /** Has the host serve a configuration. */
  async apply(spec: HostSpec): Promise<void> {
    this.#take(spec)
    const host = this.require()
    await host.prepare(spec)
    await host.commit(spec.generation)
  }

  /** Has the host serve a configuration that it has built. */
  async commit(spec: HostSpec): Promise<void> {
    this.#take(spec)
    await this.require().commit(spec.generation)
  }

  /** Resolves when no host of the unit uses or makes entries any more that the purge matches. */
  async purge(purge: Purge): Promise<void> {
    const { clock, logger, timings } = this.#options
    this.#purges?.add(purge)
    await askMembers(this.#hosts.purgeMembers, purge, { clock, logger, ackTimeoutMs: timings.purgeTimeoutMs * ACK_SHARE })
  }

  purgeSettled(number: number): void {
    this.#purges?.settled(number)
    for (const { peer } of this.#hosts.joined) peer.notify('purgeSettled', { number })
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
    this.#slot.beginDrain()
    // It may have ended, and is ended below whatever it responds.
    await this.host?.drain(timeoutMs).catch(() => undefined)
    await this.stop()
  }

  /** Ends the host at once. */
  async stop(): Promise<void> {
    this.#ready.reject(new SupervisorError('SUP_STOPPED', 'the start was aborted'))
    await this.#hosts.stop([this.#slot])
    if (this.#hasServed) await rm(this.#options.socket, { force: true })
  }

  cut(): void {
    this.#slot.beginDrain()
    this.#slot.current?.process.kill()
  }

  #launch(): RunningHost {
    const { launch, socket, token, timings } = this.#options
    const number = ++this.#launched
    const id = `host-${number}`
    return new RunningHost(launch(id), { id, socket: `${socket}${number % STARTING_NAMES}`, token: token() }, timings)
  }

  #becameReady(host: RunningHost): void {
    // Atomic: a client reaches the old host or the new one.
    renameSync(host.socket, this.#options.socket)
    if (this.#hasServed) this.#announced = this.#options.onReplaced()
    this.#hasServed = true
    this.#ready.resolve()
  }

  #died({ running, exit, cause, failures, retryInMs }: Death<RunningHost>): void {
    const { logger, timings } = this.#options
    const reason = cause === undefined ? describeExit(exit) : cause.message
    logger.error({ host_pid: running.pid, failures, retry_in_ms: retryInMs }, `render host died: ${reason}`)
    if (this.#hasServed || failures < timings.startAttempts) return
    this.#ready.reject(
      new SupervisorError('SUP_START_FAILED', `the render host ended ${failures} times before it was ready: ${reason}`, {
        cause,
      }),
    )
  }
}
