import { hasApp, type SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import {
  hostsServing,
  namingLost,
  type PoolStatus,
  type PurgeMember,
  type ReachableHost,
  type RunningHost,
  SupervisorError,
} from '@svc/processes'
import {
  type GenerationSpec,
  type HostEndpoint,
  type HostSpec,
  hostSpecOf,
  type SiteSurvey,
  type StatusReport,
} from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { HostFleet, type HostFleetOptions } from '../fleet/host-fleet.ts'
import type { Replaceable } from '../fleet/rolling-restart.ts'
import type { MetricsProcess } from '../metrics/metrics-collector.ts'
import { OwnSites, type OwnSitesOptions } from '../own-site/own-sites.ts'

/** Options of `RenderHosts`. */
export interface RenderHostsOptions {
  readonly shared: Omit<HostFleetOptions, 'target' | 'onEndpoints'>
  readonly own: Omit<OwnSitesOptions, 'target' | 'onEndpoints'>
  readonly target: () => GenerationSpec
  /** The set of endpoints has changed. Resolves when workers send nothing new to hosts that are left out. */
  readonly onEndpoints: (hosts: readonly HostEndpoint[]) => Promise<void>
}

/** Returns the sites whose code the shared hosts run and whose files the master watches: their units do that for the others. */
export function sharedSites({ sites }: Pick<GenerationSpec, 'sites'>): SiteConfig[] {
  return sites.filter((site) => hasApp(site) && site.process !== 'own')
}

/** Returns the generation for the shared hosts: without the sites that have a process of their own. */
function sharedSpec(spec: GenerationSpec): HostSpec {
  return hostSpecOf(
    spec,
    spec.sites.filter((site) => site.process !== 'own'),
  )
}

/** Time to scan, compile and load a large site on a busy machine. */
const TRY_TIMEOUT_MS = 300_000

/**
 * Has the shared hosts that render a site prepare it with other settings. Resolves with what the first of them finds.
 * @throws SUP_NOT_READY if there is none at the moment, and the error of the first host
 */
export async function tryOut(hosts: RenderHosts, spec: GenerationSpec, site: SiteConfig, logger: Logger): Promise<SiteSurvey> {
  const serving = hostsServing(hosts.endpoints, site.id)
  const [first, ...others] = hosts.shared.running.filter(({ id }) => serving.has(id))
  if (first === undefined) throw new SupervisorError('SUP_NOT_READY', `no render host serves ${site.id} at the moment; try again`)
  const ask = async ({ id, peer }: RunningHost) => {
    const call = peer.call('tryOut', { spec: hostSpecOf(spec, [site]) }, { timeoutMs: TRY_TIMEOUT_MS })
    return await namingLost(call, () => hosts.noteInFlight(id, [site.id]))
  }
  const survey = await ask(first)
  if (survey.problems.some(({ severity }) => severity === 'error')) return survey
  // The others find the same files, already compiled. One that fails begins with the first request.
  const failed = (error: unknown) =>
    logger.warn({ site: site.id, err: asError(error) }, 'a render host could not prepare a release')
  await Promise.all(others.map((host) => ask(host).catch(failed)))
  return survey
}

/** All render hosts: those that this process starts, and the units of sites with a process of their own. */
export class RenderHosts {
  readonly shared: HostFleet
  readonly own: OwnSites
  readonly #options: RenderHostsOptions
  #endpoints: readonly HostEndpoint[]
  #announced: Promise<void> = Promise.resolve()

  constructor(options: RenderHostsOptions) {
    this.#options = options
    const announce = { onEndpoints: () => this.#announce() }
    this.own = new OwnSites({ ...options.own, ...announce, target: options.target })
    this.shared = new HostFleet({ ...options.shared, ...announce, target: () => sharedSpec(options.target()) })
    this.#endpoints = this.own.endpoints
  }

  /** Resolves when the shared hosts are up or have failed too often to wait for. Does not wait for units. */
  async start(): Promise<void> {
    await this.own.start()
    await this.shared.start()
  }

  /** Endpoints of all hosts. The array is replaced, never changed. */
  get endpoints(): readonly HostEndpoint[] {
    return this.#endpoints
  }

  /** Sites that have a host of their own because they crash it. */
  get quarantined(): string[] {
    return this.shared.places.quarantined
  }

  /** Processes to collect metrics from. */
  get measured(): readonly MetricsProcess[] {
    return [...this.shared.running, ...this.own.running.map((unit) => unit.measured)]
  }

  /** Hosts that serve or could at once. */
  get running(): ReachableHost[] {
    return [...this.shared.running, ...this.own.running]
  }

  /** Running hosts that know a site. */
  runningFor(site: string): ReachableHost[] {
    return this.own.siteOf(site) !== undefined ? this.own.running.filter((unit) => unit.site.id === site) : this.shared.running
  }

  get pools(): PoolStatus[] {
    return this.running.flatMap((host) => host.pools)
  }

  /** Processes that take part in purges. */
  get purgeMembers(): PurgeMember[] {
    return [...this.shared.purgeMembers, ...this.own.purgeMembers]
  }

  /** Processes that a rolling restart replaces. */
  get replaceables(): Replaceable[] {
    return [...this.shared.replaceables, ...this.own.replaceables]
  }

  /** Has all hosts build a generation. A host that fails to does not block the reload. */
  async prepare(spec: GenerationSpec): Promise<void> {
    await Promise.all([this.shared.prepare(sharedSpec(spec)), this.own.prepare(spec)])
  }

  abandon(generation: number): void {
    this.shared.abandon(generation)
    this.own.abandon(generation)
  }

  /**
   * Has all hosts swap to the generation, which must be the target by now. Workers stop sending a site to hosts before those forget
   * it.
   */
  async commit(generation: number): Promise<void> {
    this.own.add(this.#options.target())
    await this.#announce()
    await this.shared.commit(generation)
    await this.own.commit(generation)
    await this.#announce()
  }

  /** Notes a worker's report: sites with renders in flight on a host that has ended. */
  noteInFlight(hostId: string, sites: readonly string[]): void {
    this.shared.places.inFlight.note(hostId, sites)
  }

  status(spec: GenerationSpec): StatusReport['hosts'] {
    return [...this.shared.status(sharedSites(spec).map(({ id }) => id)), ...this.own.status()]
  }

  /** Ends the shared hosts at once and disconnects the units. */
  async stop(): Promise<void> {
    await Promise.all([this.shared.stop(), this.own.close()])
  }

  async #announce(): Promise<void> {
    const next = [...this.own.endpoints, ...this.shared.endpoints]
    if (JSON.stringify(next) !== JSON.stringify(this.#endpoints)) {
      this.#endpoints = next
      this.#announced = this.#options.onEndpoints(next)
    }
    await this.#announced
  }
}
