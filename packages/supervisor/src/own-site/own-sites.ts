import { randomUUID } from 'node:crypto'
import type { PurgeOrder, PurgeState } from '@svc/cache'
import { hasApp, type SiteConfig } from '@svc/config'
import { asError, type Clock, codeOf } from '@svc/core'
import type { PurgeMember, SupervisorTimings } from '@svc/processes'
import { SupervisorError, siteSocket, unitsSocket } from '@svc/processes'
import {
  type GenerationSpec,
  type HostEndpoint,
  hostSpecOf,
  type LogBatch,
  PRODUCT_VERSION,
  type PurgeOutcome,
  type StatusReport,
} from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { Replaceable } from '../fleet/rolling-restart.ts'
import type { RelayHandler } from '../instances/relay-scripts.ts'
import type { MetricsProcess } from '../metrics/metrics-collector.ts'
import { AttachedUnit, orderOfSite } from './attached-unit.ts'
import { SiteFiles } from './site-files.ts'
import { UnitMetrics } from './unit-metrics.ts'
import { type Introduction, type UnitHandlers, type UnitPeer, UnitServer } from './unit-server.ts'

/** Options of `OwnSites`. */
export interface OwnSitesOptions {
  readonly runDir: string
  readonly target: () => GenerationSpec
  readonly purgeState: () => PurgeState
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** The set of endpoints has changed. Resolves when workers send nothing new to hosts that are left out. */
  readonly onEndpoints: () => Promise<void>
  /** A unit serves, but no worker knows yet. The workers are notified once this has resolved. Never rejects. */
  readonly onAttached: (site: SiteConfig) => Promise<void>
  /** A unit serves, and the workers know. */
  readonly onServing: (site: string) => void
  /** A unit that announced its end gets no new requests; `measured` is the source of its metrics. Never rejects. */
  readonly onDrained: (measured: MetricsProcess) => Promise<void>
  /** A render host has ended; `measured` was the source of its metrics. */
  readonly onExit: (measured: MetricsProcess) => void
  /** Purges in the whole instance. */
  readonly purge: (order: PurgeOrder) => Promise<PurgeOutcome>
  readonly isolateLost: (site: string) => void
  /** `label`: that of the site. */
  readonly sharedScript: RelayHandler
  readonly log: (site: string, batch: LogBatch) => void
  /** Files of a site have changed. Resolves when no entry made of the old ones is served as fresh any more. */
  readonly changed: (site: string, files: readonly string[]) => Promise<unknown>
}

/** Returns the sites of a generation that have a process of their own. */
function ownSites(spec: Pick<GenerationSpec, 'sites'>): SiteConfig[] {
  return spec.sites.filter((site) => site.process === 'own' && hasApp(site))
}

/** Time for a new unit to compile the modules that workers are about to need; nothing waits for it. */
const REPLACE_TIMEOUT_MS = 120_000

/**
 * Sites whose render hosts are units that another process starts. Each unit connects, authenticates with the token of its file,
 * and gets the generation and every purge from then on. While it is away its site has no render host.
 */
export class OwnSites {
  readonly #options: OwnSitesOptions
  readonly #files: SiteFiles
  readonly #server: UnitServer
  readonly #boot = randomUUID()
  /** By site. */
  readonly #units = new Map<string, AttachedUnit>()
  #sites: readonly SiteConfig[]
  #isStopping = false

  constructor(options: OwnSitesOptions) {
    this.#options = options
    this.#files = new SiteFiles(options.runDir)
    this.#sites = ownSites(options.target())
    this.#server = new UnitServer({
      path: unitsSocket(options.runDir),
      tokenOf: (site) => (this.siteOf(site) === undefined ? undefined : this.#files.token(site)),
      welcome: (unit, peer) => this.#welcome(unit, peer),
      onProblem: (error) => options.logger.error({ err: error }, adviceOn(error)),
      clock: options.clock,
    })
  }

  /** Writes the files of the sites and listens for their units. The run directory must exist. */
  async start(): Promise<void> {
    await this.#files.write(this.#options.target(), this.#sites)
    await this.#server.start()
  }

  /** Disconnects all units, which keep running. */
  async close(): Promise<void> {
    this.#isStopping = true
    for (const unit of this.#units.values()) unit.peer.close()
    await this.#server.close()
  }

  /** Endpoints of the sites. A site whose unit is away is listed too: the shared hosts do not know it. */
  get endpoints(): HostEndpoint[] {
    return this.#sites.map(({ id }) => {
      const unit = this.#units.get(id)
      const socket = siteSocket(this.#options.runDir, id)
      const token = this.#files.token(id)
      if (unit?.state !== 'serving' || token === undefined) return { id: `own-${id}`, socket, token: '', sites: [id] }
      return { id: unit.id, socket, token, sites: [id] }
    })
  }

  /** Connected units that have a generation. */
  get running(): AttachedUnit[] {
    return [...this.#units.values()].filter(({ generation }) => generation > 0)
  }

  get purgeMembers(): PurgeMember[] {
    return [...this.#units.values()].filter(({ isJoined }) => isJoined).map((unit) => unit.purgeMember)
  }

  /** Sites whose unit is not connected. */
  get absent(): string[] {
    return this.#sites.map(({ id }) => id).filter((id) => this.#units.get(id)?.state !== 'serving')
  }

  /** Undefined: no such site has a process of its own. */
  siteOf(id: string): SiteConfig | undefined {
    return this.#sites.find((site) => site.id === id)
  }

  get replaceables(): Replaceable[] {
    return this.running.map(({ id, peer }) => ({
      id,
      replace: () => peer.call('replace', undefined, { timeoutMs: REPLACE_TIMEOUT_MS }),
    }))
  }

  status(): StatusReport['hosts'] {
    return this.#sites.map(({ id }) => {
      const unit = this.#units.get(id)
      return { id: unit?.id ?? `own-${id}`, pid: unit?.pid ?? 0, state: stateText(unit), sites: [id] }
    })
  }

  /** Has all units build a generation. A unit that fails to does not block the reload. */
  async prepare(spec: GenerationSpec): Promise<void> {
    const { prepareTimeoutMs } = this.#options.timings
    await this.#each(spec, (unit, site) => unit.prepare(hostSpecOf(spec, [site]), prepareTimeoutMs))
  }

  abandon(generation: number): void {
    for (const { peer } of this.running) peer.notify('abandon', { generation })
  }

  /** Adds sites with a process of their own to the existing ones. */
  add(spec: GenerationSpec): void {
    const wanted = ownSites(spec)
    const left = this.#sites.filter((site) => !wanted.some(({ id }) => id === site.id))
    this.#sites = [...wanted, ...left]
  }

  /** Has all units swap to the generation, which must be the target by now. Units of other sites are disconnected. */
  async commit(generation: number): Promise<void> {
    const spec = this.#options.target()
    const { prepareTimeoutMs, commitTimeoutMs: timeoutMs } = this.#options.timings
    this.#sites = ownSites(spec)
    for (const unit of this.#units.values()) if (this.siteOf(unit.site.id) === undefined) unit.peer.close()
    try {
      await this.#files.write(spec, this.#sites)
    } catch (error) {
      this.#options.logger.error({ err: asError(error) }, 'failed to write the files of sites with processes of their own')
    }
    await this.#each(spec, async (unit, site) => {
      // It has connected while the others prepared.
      if (unit.prepared !== generation) await unit.prepare(hostSpecOf(spec, [site]), prepareTimeoutMs)
      await unit.peer.call('commit', { generation }, { timeoutMs })
      unit.generation = generation
    })
  }

  /** Disconnects a unit that fails: it connects again and starts over. */
  async #each(spec: GenerationSpec, task: (unit: AttachedUnit, site: SiteConfig) => Promise<unknown>): Promise<void> {
    const sites = new Map(ownSites(spec).map((site) => [site.id, site]))
    await Promise.all(
      this.running.map(async (unit) => {
        const site = sites.get(unit.site.id)
        if (site === undefined) return
        try {
          await task(unit, site)
        } catch (error) {
          if (codeOf(error) === 'CORE_PEER_GONE') return
          this.#options.logger.warn(
            { site: site.id, err: asError(error) },
            'the unit of a site failed to reload; disconnecting it',
          )
          unit.peer.close()
        }
      }),
    )
  }

  #welcome({ site: id, pid, version }: Introduction, peer: UnitPeer): UnitHandlers {
    const { logger } = this.#options
    const site = this.siteOf(id)
    if (site === undefined) throw new SupervisorError('SUP_UNKNOWN_SITE', `no site "${id}"`)
    if (version !== PRODUCT_VERSION) {
      logger.warn(
        { site: id, unit: version, server: PRODUCT_VERSION },
        'a site unit has another version than this server: restart it',
      )
    }
    // The lock of a site lets only one unit run: an earlier one has ended without notice.
    this.#units.get(id)?.peer.close()
    const unit = new AttachedUnit(site, pid, peer)
    this.#units.set(id, unit)
    const ended = () => void this.#ended(unit)
    peer.closed.then(ended, ended)
    // After the reply to its hello.
    setImmediate(() => void this.#attach(unit))
    return this.#handlersOf(unit)
  }

  /** Brings a unit to the target of the moment when it is ready, and notifies the workers. Never rejects. */
  async #attach(unit: AttachedUnit): Promise<void> {
    const { target, purgeState, timings, clock, logger, onAttached, onServing } = this.#options
    const { prepareTimeoutMs, commitTimeoutMs } = timings
    const site = unit.site.id
    try {
      let { generation } = target()
      const begun = { spec: this.#specFor(unit), purges: purgeState(), boot: this.#boot }
      unit.isJoined = true
      await unit.peer.call('attach', begun, { timeoutMs: timings.startTimeoutMs })
      while (generation !== target().generation) {
        generation = target().generation
        await unit.prepare(this.#specFor(unit), prepareTimeoutMs)
        await unit.peer.call('commit', { generation }, { timeoutMs: commitTimeoutMs })
      }
      unit.generation = generation
      await onAttached(unit.site)
      if (this.#units.get(site) !== unit || unit.state !== 'attaching') return
      unit.state = 'serving'
      unit.watch(timings, clock, () => logger.error({ site, unit_pid: unit.pid }, 'the unit of a site stopped responding'))
      logger.info({ site, unit_pid: unit.pid }, 'the unit of a site is ready')
      await this.#options.onEndpoints()
      onServing(site)
    } catch (error) {
      if (codeOf(error) !== 'CORE_PEER_GONE') {
        logger.error({ site, unit_pid: unit.pid, err: asError(error) }, 'the unit of a site failed to start serving')
      }
      unit.peer.close()
    }
  }

  #specFor(unit: AttachedUnit) {
    const spec = this.#options.target()
    const site = ownSites(spec).find(({ id }) => id === unit.site.id)
    if (site !== undefined) return hostSpecOf(spec, [site])
    throw new SupervisorError('SUP_UNKNOWN_SITE', `the site "${unit.site.id}" has no process of its own any more`)
  }

  async #ended(unit: AttachedUnit): Promise<void> {
    const { logger, onEndpoints, onExit } = this.#options
    const site = unit.site.id
    unit.stopWatch()
    const isLast = this.#units.get(site) === unit
    if (isLast) this.#units.delete(site)
    onExit(unit.measured)
    if (!this.#isStopping && unit.state === 'serving') logger.error({ site, unit_pid: unit.pid }, 'lost the unit of a site')
    try {
      if (isLast && !this.#isStopping) await onEndpoints()
    } catch (error) {
      logger.error({ site, err: asError(error) }, 'failed to notify workers of the loss of a unit')
    }
    unit.ended.resolve()
  }

  #handlersOf(unit: AttachedUnit): UnitHandlers {
    const { purge, isolateLost, sharedScript, log, changed, onEndpoints, onDrained, onExit, logger } = this.#options
    const site = unit.site.id
    const inTurn = <T>(task: () => Promise<T>) => unit.inTurn(task)
    return {
      purge: ({ order }) => inTurn(async () => purge(orderOfSite(order, this.siteOf(site)?.label ?? unit.site.label))),
      isolateLost: () => void isolateLost(site),
      sharedScript: (call, { bytes }) => sharedScript(call, bytes, this.siteOf(site)?.label ?? unit.site.label),
      log: (batch) => void log(site, batch),
      hostReplaced: () =>
        inTurn(async () => {
          onExit(unit.measured)
          unit.measured = new UnitMetrics(unit.peer)
          unit.hosts++
          await onEndpoints()
          return undefined
        }),
      leaving: async () => {
        if (unit.state === 'leaving') return undefined
        logger.info({ site, unit_pid: unit.pid }, 'the unit of a site is stopping')
        unit.state = 'leaving'
        await onEndpoints()
        await onDrained(unit.measured)
        return undefined
      },
      filesChanged: ({ files }) => inTurn(async () => void (await changed(site, files))),
    }
  }
}

function adviceOn(error: Error): string {
  return codeOf(error) === 'CORE_PROTOCOL'
    ? 'a site unit has another version than this server: restart the unit, and the server if it is the older one'
    : 'connection of a site unit failed'
}

function stateText(unit: AttachedUnit | undefined): string {
  if (unit === undefined) return 'absent'
  return unit.state === 'serving' ? 'ready' : unit.state
}
