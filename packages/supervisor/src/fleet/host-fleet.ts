import { rm } from 'node:fs/promises'
import type { PurgeState } from '@svc/cache'
import { asError, type Clock, type Deferred, deferred, delayMs, type Handlers, recordFailure } from '@svc/core'
import {
  bringHost,
  commitHost,
  type Death,
  describeExit,
  forkHost,
  type HostProcess,
  nextStartAt,
  type ProcessExit,
  type PurgeMember,
  prepareHost,
  purgeMemberOf,
  type RunningHost,
  Slot,
  type SupervisorTimings,
  warmLike,
  watchHost,
} from '@svc/processes'
import type { HostEndpoint, HostSpec, hostParentMethods, StatusReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { InFlightRenders } from './in-flight-renders.ts'
import { endpointsOf, makePlace, type Place, servedBy, servesSame } from './place.ts'
import { afterAbort, isQuarantine, nothingApart, type Placement, release } from './placement.ts'
import type { Replaceable } from './rolling-restart.ts'

/** Options of a `HostFleet`. */
export interface HostFleetOptions {
  /** Number of hosts that the sites of the target share; 0: there is no site to render. If there are any, a started spare is kept too. */
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
  readonly onGone: (process: HostProcess) => void
  readonly onDeath: () => void
}

const MEGABYTE = 1024 * 1024

/**
 * The render hosts: one process per place and a started spare, which fills a place the moment its host ends. Sites that crash
 * their host repeatedly are isolated from the others.
 */
export class HostFleet {
  readonly #options: HostFleetOptions
  readonly #slots: Slot<HostProcess>[] = []
  readonly #hosts = new WeakMap<HostProcess, RunningHost>()
  #started: Deferred<void> = deferred()
  readonly #inFlight: InFlightRenders
  readonly #cleanups = new WeakMap<HostProcess, Promise<void>>()
  readonly #prepared = new WeakMap<RunningHost, number>()
  #places: Place[] = []
  #placement: Placement = nothingApart
  #endpoints: readonly HostEndpoint[] = []
  #announced: Promise<void> = Promise.resolve()
  /** Hosts that know the state of purges, until their end. */
  readonly #joined = new Set<RunningHost>()
  #launched = 0
  #spares = 0
  #isStopping = false

  constructor(options: HostFleetOptions) {
    this.#options = options
    this.#inFlight = new InFlightRenders(options.clock)
  }

  /** Starts the hosts. Resolves when every place is filled or has failed too often to wait for. */
  start(): Promise<void> {
    this.#makeShared()
    return this.#started.promise
  }

  /** Keeps a started spare from now on. Called when the service is ready: until then a spare would only slow the start down. */
  keepSpare(): void {
    this.#spares = 1
    if (!this.#isStopping) this.#fitSlots()
  }

  /** Endpoints of the hosts. The array is replaced, never changed. */
  get endpoints(): readonly HostEndpoint[] {
    return this.#endpoints
  }

  get wanted(): number {
    return this.#places.length
  }

  get filled(): number {
    return this.#places.filter((place) => place.host !== undefined).length
  }

  get processes(): HostProcess[] {
    return this.#slots.flatMap((slot) => slot.readyProcess ?? [])
  }

  /** Sites that have a host of their own because they crash it. */
  get quarantined(): string[] {
    return this.#placement.groups.filter(isQuarantine).flatMap((group) => group.sites)
  }

  /** Has all hosts build a generation. A host that fails to does not block the reload: `commit` replaces it. */
  async prepare(spec: HostSpec): Promise<void> {
    await Promise.all(
      this.running.map(async (host) => {
        try {
          await prepareHost(host, spec, this.#options.timings)
          this.#prepared.set(host, spec.generation)
        } catch (error) {
          this.#options.logger.warn({ host: host.id, err: asError(error) }, 'render host failed to prepare a generation')
        }
      }),
    )
  }

  abandon(generation: number): void {
    for (const host of this.running) host.process.peer.notify('abandon', { generation })
  }

  /** Has all hosts swap to the generation, which must be the target by now. Replaces a host that fails to. */
  async commit(generation: number): Promise<void> {
    this.#makeShared()
    await Promise.all(
      this.running.map(async (host) => {
        try {
          if (this.#prepared.get(host) !== generation) await prepareHost(host, this.#options.target(), this.#options.timings)
          await commitHost(host, generation, this.#options.timings)
        } catch (error) {
          this.#options.logger.warn({ host: host.id, err: asError(error) }, 'render host failed to reload; replacing it')
          this.#replace(host)
        }
      }),
    )
    await this.#started.promise
  }

  /** Drops the state of sites that a reload removed. */
  sitesChanged(sites: readonly string[]): void {
    this.#apply(release(this.#placement, this.#options.clock.monotonic(), sites))
  }

  /** Hosts that take part in purges. */
  get purgeMembers(): PurgeMember[] {
    return Array.from(this.#joined, purgeMemberOf)
  }

  /** Each process, the spare first: it fills the first place that becomes empty. */
  get replaceables(): Replaceable[] {
    const isSpare = (slot: Slot<HostProcess>) => !this.#places.some((place) => place.host?.process === slot.process)
    const slots = [...this.#slots.filter(isSpare), ...this.#slots.filter((slot) => !isSpare(slot))]
    return slots.map((slot) => {
      const old = slot.process
      // A process that has ended meanwhile has been replaced already.
      return { replace: async () => (slot.process === old && old?.hasExited === false ? slot.replace() : undefined) }
    })
  }

  /** Notes a worker's report: sites with renders in flight on a host that is gone. */
  noteInFlight(hostId: string, sites: readonly string[]): void {
    this.#inFlight.note(hostId, sites)
  }

  /** Lets renders end, then ends the hosts. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    for (const slot of this.#slots) slot.beginDrain()
    const { exitGraceMs } = this.#options.timings
    await Promise.all(
      this.running.map((host) =>
        host.process.peer.call('drain', { timeoutMs }, { timeoutMs: timeoutMs + exitGraceMs }).catch(() => undefined),
      ),
    )
    await this.stop()
  }

  /** Ends the hosts at once. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#started.resolve()
    const ending = this.#slots.flatMap((slot) => slot.process ?? [])
    await Promise.all(this.#slots.map((slot) => slot.stop(this.#options.timings.exitGraceMs)))
    await Promise.all(ending.map((process) => this.#cleanups.get(process)))
  }

  cut(): void {
    for (const slot of this.#slots) {
      slot.beginDrain()
      slot.process?.kill()
    }
  }

  status(siteIds: readonly string[]): StatusReport['hosts'] {
    return this.#slots.map((slot) => {
      const host = slot.process === undefined ? undefined : this.#hosts.get(slot.process)
      const place = this.#places.find((candidate) => candidate.host === host)
      const state = slot.state === 'ready' && place === undefined ? 'spare' : slot.state
      const sites = host === undefined || place === undefined ? [] : servedBy(place, siteIds, this.#placement)
      return { id: host?.id ?? 'none', pid: slot.process?.pid ?? 0, state, sites }
    })
  }

  /** Hosts that serve or could at once. */
  get running(): RunningHost[] {
    return this.processes.flatMap((process) => this.#hosts.get(process) ?? [])
  }

  /** Makes the shared places as soon as there is a site to render. They stay: renders may be in flight when the last site goes. */
  #makeShared(): void {
    if (this.#places.length > 0 || this.#isStopping) return
    this.#places = Array.from({ length: this.#options.count() }, (_, i) => makePlace(`shared-${i + 1}`, '*'))
    this.#started = deferred()
    if (this.#places.length === 0) this.#started.resolve()
    this.#fitSlots()
  }

  /** As many processes as places and spares. */
  #fitSlots(): void {
    const wanted = this.#places.length === 0 ? 0 : this.#places.length + this.#spares
    while (this.#slots.length < wanted) {
      const slot = this.#makeSlot()
      this.#slots.push(slot)
      slot.start()
    }
    while (this.#slots.length > wanted) {
      const index = this.#slots.findIndex((slot) => !this.#places.some((place) => place.host?.process === slot.process))
      const [slot] = this.#slots.splice(Math.max(0, index), 1)
      if (slot !== undefined) this.#dismiss(slot).catch(this.#problem)
    }
  }

  async #dismiss(slot: Slot<HostProcess>): Promise<void> {
    const { prepareTimeoutMs, exitGraceMs } = this.#options.timings
    slot.beginDrain()
    // Its exit is awaited below, whatever it responds.
    await slot.process?.peer
      .call('drain', { timeoutMs: prepareTimeoutMs }, { timeoutMs: prepareTimeoutMs })
      .catch(() => undefined)
    await slot.stop(exitGraceMs)
  }

  #makeSlot(): Slot<HostProcess> {
    const { timings, clock, target } = this.#options
    const driver = {
      launch: () => this.#launch(),
      bring: async (process: HostProcess) => bringHost(this.#of(process), target, () => this.#join(this.#of(process)), timings),
      ready: (process: HostProcess) => this.#becameReady(this.#of(process)),
      died: (death: Death<HostProcess>) => this.#died(death),
      warm: (process: HostProcess, old: HostProcess) => warmLike(this.#of(process), this.#of(old), this.#options.logger),
      retire: async (process: HostProcess, successor: HostProcess) => {
        this.#hand(process, successor)
        await this.#announced
        await process.peer.call('drain', { timeoutMs: timings.prepareTimeoutMs }, { timeoutMs: timings.prepareTimeoutMs + 1_000 })
      },
    }
    return new Slot(driver, timings, clock)
  }

  /** From the turn in which a host gets the purges so far, it gets every later one. */
  #join(host: RunningHost): PurgeState | undefined {
    if (this.#joined.has(host)) return undefined
    if (!host.process.hasExited) this.#joined.add(host)
    return this.#options.purgeState()
  }

  #of(process: HostProcess): RunningHost {
    return this.#hosts.get(process) as RunningHost
  }

  readonly #problem = (error: unknown): void => {
    this.#options.logger.error({ err: asError(error) }, 'render host bookkeeping failed')
  }

  #launch(): HostProcess {
    const { launch, runDir, handlers, onGone } = this.#options
    const host = forkHost(`host-${++this.#launched}`, runDir, (id) => launch(id, handlers))
    this.#hosts.set(host.process, host)
    this.#inFlight.open(host.id)
    const cleanup = host.process.exited
      .then(() => {
        host.stopWatch()
        this.#joined.delete(host)
        onGone(host.process)
        this.#inFlight.close(host.id)
        return rm(host.socket, { force: true })
      })
      .catch(this.#problem)
    this.#cleanups.set(host.process, cleanup)
    return host.process
  }

  #becameReady(host: RunningHost): void {
    const { timings, clock, target, logger } = this.#options
    const limit = () => target().config.render.host_memory_limit_mb * MEGABYTE
    watchHost(host, timings, clock, limit, (reason) => {
      logger.error({ host: host.id, host_pid: host.process.pid, reason, rss_bytes: host.rssBytes }, 'replacing a render host')
      if (reason === 'memory') this.#replace(host)
      else host.process.kill()
    })
    this.#fill()
  }

  #replace(host: RunningHost): void {
    host.stopWatch()
    const slot = this.#slots.find((candidate) => candidate.process === host.process)
    slot?.replace().catch((error) => {
      this.#options.logger.error({ host: host.id, err: asError(error) }, 'failed to replace the render host; killing it')
      host.process.kill()
    })
  }

  /** Gives every empty place a ready host without a place. */
  #fill(): void {
    for (const place of this.#places) {
      if (place.host !== undefined || place.heldUntil > 0) continue
      place.host = this.running.find((host) => !this.#places.some((other) => other.host === host))
    }
    this.#announce()
    if (this.#places.every((place) => place.host !== undefined)) this.#started.resolve()
  }

  /** Gives the place of a host to its successor, unless that has one already. */
  #hand(process: HostProcess, successor: HostProcess): void {
    const host = this.#of(successor)
    const place = this.#places.find((candidate) => candidate.host?.process === process)
    if (place !== undefined) place.host = this.#places.some((other) => other.host === host) ? undefined : host
    this.#fill()
  }

  #announce(): void {
    const next = endpointsOf(this.#places, this.#options.runDir, nextStartAt(this.#slots))
    if (JSON.stringify(next) === JSON.stringify(this.#endpoints)) return
    this.#endpoints = next
    if (!this.#isStopping) this.#announced = this.#options.onEndpoints(next)
  }

  #died(death: Death<HostProcess>): void {
    const { logger, onDeath, timings } = this.#options
    const host = this.#of(death.process)
    onDeath()
    const place = this.#places.find((candidate) => candidate.host === host)
    const reason = death.cause === undefined ? describeExit(death.exit) : death.cause.message
    const facts = { host: host.id, host_pid: death.process.pid, place: place?.name, retry_in_ms: death.retryInMs }
    logger.error(facts, `render host died: ${reason}`)
    if (place === undefined) this.#announce()
    else this.#lost(place, host, death.exit)
    if (death.failures >= timings.startAttempts) this.#started.resolve()
  }

  #lost(place: Place, host: RunningHost, exit: ProcessExit): void {
    const { clock, timings } = this.#options
    const at = clock.monotonic()
    place.host = undefined
    place.failures = recordFailure(place.failures, timings.backoff, at)
    const holdMs = place.sites === '*' ? 0 : delayMs(place.failures, timings.backoff)
    if (holdMs > 0) {
      place.heldUntil = clock.now() + holdMs
      clock.after(holdMs, () => {
        place.heldUntil = 0
        this.#fill()
      })
    }
    this.#fill()
    const atPing = host.pools.filter((pool) => pool.active > 0).map((pool) => pool.site)
    this.#inFlight.whenReported(host.id, atPing, (sites) => {
      const facts = { host: host.id, place: place.name, sites, exit: describeExit(exit) }
      this.#options.logger.warn(facts, 'lost the renders in flight of a render host')
      if (!this.#isStopping) this.#apply(afterAbort(this.#placement, { at, place: place.name, sites }))
    })
  }

  /** Makes the places follow a placement. */
  #apply(next: Placement): void {
    const before = this.#placement
    this.#placement = next
    for (const group of next.groups) {
      if (before.groups.some((old) => old.name === group.name)) continue
      const alert = isQuarantine(group) ? 'render_site_quarantined' : 'render_sites_suspected'
      this.#options.logger.error({ alert, sites: group.sites }, 'sites that bring down their render host are set apart')
    }
    const shared = this.#places.filter((place) => place.sites === '*')
    const apart = next.groups.map((group) => {
      const old = this.#places.find((place) => place.name === group.name && servesSame(place, group.sites))
      return old ?? makePlace(group.name, group.sites)
    })
    this.#places = [...shared, ...apart]
    this.#fill()
    this.#fitSlots()
  }
}
