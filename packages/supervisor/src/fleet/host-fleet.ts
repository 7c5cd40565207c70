import type { PurgeState } from '@svc/cache'
import { asError, type Clock, type Handlers } from '@svc/core'
import {
  type Death,
  describeExit,
  type HostProcess,
  HostSlots,
  hostPlace,
  nextStartAt,
  type PurgeMember,
  RunningHost,
  type Slot,
  type SupervisorTimings,
} from '@svc/processes'
import type { HostEndpoint, HostSpec, hostParentMethods, StatusReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { endpointsOf, Places } from './places.ts'
import type { Replaceable } from './rolling-restart.ts'

/** Options of a `HostFleet`. */
export interface HostFleetOptions {
  /** Number of hosts that the sites of the target share; 0: there is no site to render. Otherwise the fleet has a started spare too. */
  readonly count: () => number
  readonly runDir: string
  readonly launch: (id: string, handlers: Handlers<typeof hostParentMethods>) => HostProcess
  readonly target: () => HostSpec
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** The state of purges for a host that starts to serve. */
  readonly purgeState: () => PurgeState
  /** The set of endpoints has changed. Resolves when workers send nothing new to hosts that are left out. */
  readonly onEndpoints: (hosts: readonly HostEndpoint[]) => Promise<void>
  /** Handlers of the hosts' calls to the master. */
  readonly handlers: Handlers<typeof hostParentMethods>
  /** A host that serves no longer has done its work, and ends when this resolves. Never rejects. */
  readonly onDrained: (host: RunningHost) => Promise<void>
  readonly onExit: (host: RunningHost) => void
  readonly onDeath: () => void
}

/** The render hosts: one process for each place and a started spare, which fills a place the moment its host ends. */
export class HostFleet {
  readonly places: Places
  readonly #options: HostFleetOptions
  readonly #hosts: HostSlots
  readonly #slots: Slot<RunningHost>[] = []
  readonly #prepared = new WeakMap<RunningHost, number>()
  #started = Promise.withResolvers<void>()
  #endpoints: readonly HostEndpoint[] = []
  #announced: Promise<void> = Promise.resolve()
  #launched = 0
  #spares = 0
  #isStopping = false

  constructor(options: HostFleetOptions) {
    this.#options = options
    const { target, purgeState, timings, clock, logger } = options
    const ready = () => this.running
    this.places = new Places({ ready, onChange: () => this.#placesChanged(), backoff: timings.backoff, clock, logger })
    this.#hosts = new HostSlots({
      launch: () => this.#launch(),
      target,
      purgeState,
      onReady: () => this.places.fill(),
      onDeath: (death) => this.#died(death),
      onDrained: options.onDrained,
      onExit: (host) => {
        options.onExit(host)
        this.places.inFlight.close(host.id)
      },
      handOver: (host, successor) => {
        this.places.hand(host, successor)
        return this.#announced
      },
      replace: (host) => this.#replace(host),
      timings,
      clock,
      logger,
    })
  }

  /** Starts the hosts. Resolves when every place is filled or has failed too often to wait for. */
  start(): Promise<void> {
    this.#openPlaces()
    return this.#started.promise
  }

  /** Keeps a started spare from now on. Called when the service is ready: until then a spare would only slow the start down. */
  keepSpare(): void {
    this.#spares = 1
    this.#fitSlots()
  }

  /** Endpoints of the hosts. The array is replaced, never changed. */
  get endpoints(): readonly HostEndpoint[] {
    return this.#endpoints
  }

  /** Hosts that serve or could at once. */
  get running(): RunningHost[] {
    return this.#slots.flatMap((slot) => slot.ready ?? [])
  }

  /** Hosts that die again and again. */
  get looping(): number {
    return this.#slots.filter((slot) => slot.isLooping).length
  }

  /** Hosts that take part in purges. */
  get purgeMembers(): PurgeMember[] {
    return this.#hosts.purgeMembers
  }

  /** Each process, the spare first: it fills the first place that becomes empty. */
  get replaceables(): Replaceable[] {
    const isSpare = (slot: Slot<RunningHost>) => this.places.of(slot.current) === undefined
    const slots = [...this.#slots.filter(isSpare), ...this.#slots.filter((slot) => !isSpare(slot))]
    return slots.map((slot) => {
      const old = slot.current
      // A process that has ended meanwhile has been replaced already.
      return {
        id: old?.id ?? 'none',
        replace: async () => (slot.current === old && old?.process.hasExited === false ? slot.replace() : undefined),
      }
    })
  }

  /** Has all hosts build a generation. A host that fails to does not block the reload: `commit` replaces it. */
  async prepare(spec: HostSpec): Promise<void> {
    await Promise.all(
      this.running.map(async (host) => {
        try {
          await host.prepare(spec)
          this.#prepared.set(host, spec.generation)
        } catch (error) {
          this.#options.logger.warn({ host: host.id, err: asError(error) }, 'render host failed to prepare a generation')
        }
      }),
    )
  }

  abandon(generation: number): void {
    for (const { peer } of this.running) peer.notify('abandon', { generation })
  }

  /** Has all hosts swap to the generation, which must be the target by now. Replaces a host that fails to. */
  async commit(generation: number): Promise<void> {
    const { target, logger } = this.#options
    this.#openPlaces()
    await Promise.all(
      this.running.map(async (host) => {
        try {
          if (this.#prepared.get(host) !== generation) await host.prepare(target())
          await host.commit(generation)
        } catch (error) {
          logger.warn({ host: host.id, err: asError(error) }, 'render host failed to reload; replacing it')
          void this.#replace(host)
        }
      }),
    )
    await this.#started.promise
  }

  /** Lets renders end, then ends the hosts. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    this.places.close()
    for (const slot of this.#slots) slot.beginDrain()
    await Promise.all(this.running.map((host) => host.drain(timeoutMs).catch(() => undefined)))
    await this.stop()
  }

  /** Ends the hosts at once. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.places.close()
    this.#started.resolve()
    await this.#hosts.stop(this.#slots)
  }

  cut(): void {
    for (const slot of this.#slots) {
      slot.beginDrain()
      slot.current?.process.kill()
    }
  }

  status(siteIds: readonly string[]): StatusReport['hosts'] {
    return this.#slots.map(({ current: host, state }) => ({
      id: host?.id ?? 'none',
      pid: host?.pid ?? 0,
      state: state === 'ready' && this.places.of(host) === undefined ? 'spare' : state,
      sites: this.places.servedBy(host, siteIds),
    }))
  }

  /** Opens the shared places as soon as there is a site to render. */
  #openPlaces(): void {
    if (this.places.all.length > 0 || this.#isStopping) return
    this.places.open(this.#options.count())
    this.#started = Promise.withResolvers()
    if (this.places.all.length === 0) this.#started.resolve()
    this.#fitSlots()
  }

  /** As many processes as places and spares. */
  #fitSlots(): void {
    if (this.#isStopping) return
    const places = this.places.all.length
    const wanted = places === 0 ? 0 : places + this.#spares
    while (this.#slots.length < wanted) {
      const slot = this.#hosts.make()
      this.#slots.push(slot)
      slot.start()
    }
    while (this.#slots.length > wanted) {
      const index = this.#slots.findIndex((slot) => this.places.of(slot.current) === undefined)
      const [slot] = this.#slots.splice(Math.max(0, index), 1)
      if (slot !== undefined) void this.#dismiss(slot)
    }
  }

  /** Never rejects. */
  async #dismiss(slot: Slot<RunningHost>): Promise<void> {
    const { onDrained, timings } = this.#options
    slot.beginDrain()
    // Its exit is awaited below, whatever it responds.
    await slot.current?.drain(timings.prepareTimeoutMs).catch(() => undefined)
    if (slot.current !== undefined) await onDrained(slot.current)
    await this.#hosts.stop([slot])
  }

  #launch(): RunningHost {
    const { launch, runDir, handlers, timings } = this.#options
    const place = hostPlace(`host-${++this.#launched}`, runDir)
    const host = new RunningHost(launch(place.id, handlers), place, timings)
    this.places.inFlight.open(host.id)
    return host
  }

  async #replace(host: RunningHost): Promise<void> {
    host.stopWatch()
    try {
      await this.#slots.find((slot) => slot.current === host)?.replace()
    } catch (error) {
      this.#options.logger.error({ host: host.id, err: asError(error) }, 'failed to replace the render host; killing it')
      host.process.kill()
    }
  }

  #placesChanged(): void {
    this.#announce()
    if (this.places.all.every((place) => place.host !== undefined)) this.#started.resolve()
    this.#fitSlots()
  }

  #announce(): void {
    const next = endpointsOf(this.places.all, this.#options.runDir, nextStartAt(this.#slots))
    if (JSON.stringify(next) === JSON.stringify(this.#endpoints)) return
    this.#endpoints = next
    if (!this.#isStopping) this.#announced = this.#options.onEndpoints(next)
  }

  #died({ running: host, exit, cause, failures, retryInMs }: Death<RunningHost>): void {
    const { logger, onDeath, timings } = this.#options
    onDeath()
    const place = this.places.of(host)
    const reason = cause === undefined ? describeExit(exit) : cause.message
    const facts = { host: host.id, host_pid: host.pid, place: place?.name, retry_in_ms: retryInMs }
    logger.error(facts, `render host died: ${reason}`)
    if (place === undefined) this.#announce()
    else this.places.lost(place, host, exit)
    if (failures >= timings.startAttempts) this.#started.resolve()
  }
}
