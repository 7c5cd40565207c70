import { hasApp } from '@svc/config'
import type { PoolStatus, PurgeMember } from '@svc/processes'
import { type ReachableHost, reachable } from '@svc/processes'
import { type GenerationSpec, type HostEndpoint, type StatusReport, withoutWeb } from '@svc/protocol'
import { HostFleet, type HostFleetOptions } from '../fleet/host-fleet.ts'
import type { Replaceable } from '../fleet/rolling-restart.ts'
import type { MetricsProcess } from '../metrics/metrics-collector.ts'
import { OwnSites, type OwnSitesOptions } from '../own-site/own-sites.ts'

/** What all render hosts are made of. */
interface RenderHostsOptions {
  readonly shared: Omit<HostFleetOptions, 'target' | 'onEndpoints'>
  readonly own: Omit<OwnSitesOptions, 'target' | 'onEndpoints'>
  readonly target: () => GenerationSpec
  /** The set of endpoints has changed. Resolves when workers send nothing new to hosts that are left out. */
  readonly onEndpoints: (hosts: readonly HostEndpoint[]) => Promise<void>
}

/** What the shared hosts serve: nothing of a site with a process of its own gets to them. */
function sharedSpec(spec: GenerationSpec): GenerationSpec {
  return { ...withoutWeb(spec), sites: spec.sites.filter((site) => site.process !== 'own') }
}

/** All that renders: the hosts that this process starts, and the units of sites with a process of their own. */
export class RenderHosts {
  readonly #shared: HostFleet
  readonly #own: OwnSites
  readonly #options: RenderHostsOptions
  #endpoints: readonly HostEndpoint[]
  #announced: Promise<void> = Promise.resolve()

  constructor(options: RenderHostsOptions) {
    this.#options = options
    const announce = { onEndpoints: () => this.#announce() }
    this.#own = new OwnSites({ ...options.own, ...announce, target: options.target })
    this.#shared = new HostFleet({ ...options.shared, ...announce, target: () => sharedSpec(options.target()) })
    this.#endpoints = this.#own.endpoints
  }

  /** Resolves when the shared hosts are up, or have failed often enough not to wait for them. Units come when they come. */
  async start(): Promise<void> {
    await this.#own.start()
    await this.#shared.start()
  }

  /** See `HostFleet.keepSpare`. */
  keepSpare(): void {
    this.#shared.keepSpare()
  }

  /** Where sites are rendered. The array is replaced, never changed. */
  get endpoints(): readonly HostEndpoint[] {
    return this.#endpoints
  }

  /** Shared hosts that should be up, and those that are. */
  get wanted(): number {
    return this.#shared.wanted
  }

  get filled(): number {
    return this.#shared.filled
  }

  /** Sites with a process of their own that is not there. */
  get absent(): string[] {
    return this.#own.absent
  }

  /** Sites that have a host of their own because they bring it down. */
  get quarantined(): string[] {
    return this.#shared.quarantined
  }

  /** Those that can be asked for their metrics. */
  get measured(): readonly MetricsProcess[] {
    return [...this.#shared.processes, ...this.#own.running.map((unit) => unit.measured)]
  }

  /** Hosts that serve or could at once. */
  get running(): ReachableHost[] {
    return [...this.#shared.running.map(reachable), ...this.#own.running]
  }

  /** Those of them that know a site. */
  runningFor(site: string): ReachableHost[] {
    return this.#own.has(site) ? this.#own.running.filter((unit) => unit.site.id === site) : this.#shared.running.map(reachable)
  }

  get pools(): PoolStatus[] {
    return this.running.flatMap((host) => host.pools)
  }

  /** Those who take part in purges. */
  get purgeMembers(): PurgeMember[] {
    return [...this.#shared.purgeMembers, ...this.#own.purgeMembers]
  }

  /** What a rolling restart replaces. */
  get replaceables(): Replaceable[] {
    return [...this.#shared.replaceables, ...this.#own.replaceables]
  }

  /** Has all hosts build a generation. A reload is not held up by one that cannot. */
  async prepare(spec: GenerationSpec): Promise<void> {
    await Promise.all([this.#shared.prepare(sharedSpec(spec)), this.#own.prepare(spec)])
  }

  abandon(generation: number): void {
    this.#shared.abandon(generation)
    this.#own.abandon(generation)
  }

  /**
   * Has all hosts swap to the generation, which must be the target by now. Workers send nothing more of a site to hosts that are
   * about to forget it.
   */
  async commit(generation: number): Promise<void> {
    this.#own.add(this.#options.target())
    await this.#announce()
    await this.#shared.commit(generation)
    await this.#own.commit(generation)
    await this.#announce()
  }

  /** Drops what a reload took away. */
  sitesChanged({ sites }: GenerationSpec): void {
    this.#shared.sitesChanged(sites.filter((site) => site.process !== 'own' && hasApp(site)).map(({ id }) => id))
  }

  /** See `HostFleet.noteInFlight`. */
  noteInFlight(hostId: string, sites: readonly string[]): void {
    this.#shared.noteInFlight(hostId, sites)
  }

  status({ sites }: GenerationSpec): StatusReport['hosts'] {
    const shared = sites.filter((site) => site.process !== 'own' && hasApp(site)).map(({ id }) => id)
    return [...this.#shared.status(shared), ...this.#own.status()]
  }

  /** Lets renders of the shared hosts end, then ends them. Units go on. */
  drain(timeoutMs: number): Promise<void> {
    return this.#shared.drain(timeoutMs)
  }

  cut(): void {
    this.#shared.cut()
  }

  /** Ends the shared hosts at once, and lets go of the units. */
  async stop(): Promise<void> {
    await Promise.all([this.#shared.stop(), this.#own.close()])
  }

  async #announce(): Promise<void> {
    const next = [...this.#own.endpoints, ...this.#shared.endpoints]
    if (JSON.stringify(next) !== JSON.stringify(this.#endpoints)) {
      this.#endpoints = next
      this.#announced = this.#options.onEndpoints(next)
    }
    await this.#announced
  }
}
