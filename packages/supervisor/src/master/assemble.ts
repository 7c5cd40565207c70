import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { PurgeOrder } from '@svc/cache'
import { hasApp } from '@svc/config'
import { asError, type CloseStack } from '@svc/core'
import type { OwnDirectories, ServiceManager } from '@svc/processes'
import {
  hostsServing,
  type LaunchSettings,
  launchHost,
  launchWorker,
  removeSockets,
  SiteWatcher,
  SupervisorError,
  surveySite,
  tellOfChange,
  watchSettings,
} from '@svc/processes'
import type { GenerationSpec } from '@svc/protocol'
import type { AutomaticCertificates } from '../acme/automatic-certificates.ts'
import type { Proofs } from '../acme/proofs.ts'
import { RollingRestart } from '../fleet/rolling-restart.ts'
import { WorkerFleet } from '../fleet/worker-fleet.ts'
import { IsolateLosses } from '../health/isolate-losses.ts'
import { MetricsCollector, type MetricsProcess } from '../metrics/metrics-collector.ts'
import { PurgeCounts } from '../metrics/purge-counts.ts'
import { Reloader } from '../reload/reloader.ts'
import type { Certificates } from '../tls/certificates.ts'
import { Caches } from './caches.ts'
import { hostHandlers, workerHandlers } from './handlers.ts'
import type { MasterDeps } from './options.ts'
import type { MasterParts } from './parts.ts'
import { type GenerationAccess, makeReloadTarget } from './reload-target.ts'
import { RenderHosts } from './render-hosts.ts'
import { ServedSites } from './served-sites.ts'
import { SiteChanges } from './site-changes.ts'
import { SiteMarks } from './site-marks.ts'
import { SiteSurveys } from './site-surveys.ts'
import { unitAttached } from './unit-attached.ts'
import { watchedSites } from './watched-sites.ts'

/** What an instance is put together from. */
interface AssembleOptions {
  readonly deps: MasterDeps
  readonly access: GenerationAccess
  readonly manager: ServiceManager
  readonly certificates: Certificates
  readonly automatic: AutomaticCertificates
  readonly proofs: Proofs
  /** All processes serve. Never rejects. */
  readonly started: Promise<void>
  /** Gets the release of everything that is made. */
  readonly stack: CloseStack
}

/** An instance that is ready to be started. */
interface Instance {
  readonly parts: MasterParts
  readonly watcher: SiteWatcher
}

/** Parts know each other: this is how they are reached by those that were made before them. */
type Later = () => MasterParts

function launchSettings({ options, logger }: MasterDeps, server: GenerationSpec['config']['server']): LaunchSettings {
  return {
    programs: options.programs,
    runDir: server.run_dir,
    maxHeaderBytes: server.max_header_bytes,
    onProblem: (name, error) => logger.warn({ err: error }, `trouble with ${name}`),
  }
}

function makeHosts({ deps, access }: AssembleOptions, later: Later, losses: IsolateLosses): RenderHosts {
  const { clock, logger, timings } = deps
  const { config } = access.get()
  const settings = launchSettings(deps, config.server)
  const onLost = (site: string) => losses.note(site, clock.monotonic())
  const common = {
    runDir: config.server.run_dir,
    purgeState: () => later().caches.purges.hostState(),
    timings,
    clock,
    logger,
    onGone: (host: MetricsProcess) => {
      const { metrics, caches } = later()
      metrics.gone(host)
      caches.hostGone()
    },
  }
  return new RenderHosts({
    shared: {
      ...common,
      // A server of static files and upstreams alone needs no process for the code of sites.
      count: () => (access.get().sites.some(hasApp) ? config.render.hosts : 0),
      launch: (id, handlers) => launchHost(settings, `render ${id}`, handlers),
      handlers: hostHandlers(later, onLost),
      onDeath: () => later().metrics.countDeath('host'),
    },
    own: {
      ...common,
      isolateLost: onLost,
      purge: (order) => later().caches.purge(order),
      changed: (site, files) => later().changes.changed(site, files),
      onAttached: (site) => unitAttached(later(), site),
      onServing: (site) => later().surveys.add(site),
    },
    target: access.get,
    onEndpoints: (endpoints) => later().workers.announceHosts(endpoints),
  })
}

function makeWorkers({ deps, access, proofs }: AssembleOptions, later: Later): WorkerFleet {
  const { clock, logger, timings } = deps
  const { server } = access.get().config
  const settings = launchSettings(deps, server)
  return new WorkerFleet({
    count: server.workers === 0 ? availableParallelism() : server.workers,
    launch: (id, handlers) => launchWorker(settings, `worker ${id}`, handlers),
    handlers: (connection) => workerHandlers(later, connection),
    target: () => ({ spec: access.get(), hosts: later().hosts.endpoints }),
    proofs: () => proofs.all,
    purgeState: () => later().caches.purges.workerState(),
    timings,
    clock,
    logger,
    onGone: (worker, connection) => {
      const { metrics, caches } = later()
      metrics.gone(worker)
      caches.workerGone(connection)
    },
    onDeath: () => later().metrics.countDeath('worker'),
  })
}

/** Where the service writes. None of these changes without a restart. */
function ownDirectories({ get }: GenerationAccess): OwnDirectories {
  const { config, moduleDir } = get()
  return [config.server.state_dir, config.server.run_dir, config.cache.dir, moduleDir]
}

function makeWatcher({ deps, access }: AssembleOptions, later: Later): SiteWatcher {
  return new SiteWatcher({
    own: ownDirectories(access),
    settings: watchSettings(deps.options.source.env),
    clock: deps.clock,
    logger: deps.logger,
    isInUse: (site) => later().hosts.pools.some((pool) => pool.site === site && pool.threads > 0),
    onChange: (site, files) => later().changes.noticed(site, files),
  })
}

function makeReloader(
  { deps, access, manager, certificates, automatic, started }: AssembleOptions,
  { caches, ...fleets }: Pick<MasterParts, 'workers' | 'hosts' | 'caches'>,
  watcher: SiteWatcher,
  served: ServedSites,
): Reloader {
  const { load, clock, logger } = deps
  const onServed = async (spec: GenerationSpec, before: GenerationSpec) => {
    logger.level = spec.config.logging.level
    watcher.setSites(watchedSites(spec))
    await certificates
      .served(spec.tls)
      .catch((error) => logger.error({ err: asError(error) }, 'copies of certificates of before could not be removed'))
    automatic.serve({ config: spec.config, web: spec.web, certificates: certificates.files })
    await removeSockets(before.listen, spec.listen)
    caches.setShares(spec.sites)
    await served.reloaded(before, spec)
  }
  const target = makeReloadTarget({ ...fleets, access, manager, onServed })
  return new Reloader({ load, current: access.get, target, certificates, started, clock, logger })
}

/** Makes the parts of an instance. No process runs yet. */
export async function assemble(options: AssembleOptions): Promise<Instance> {
  const { deps, access, stack } = options
  const { clock, logger, timings, startedAt } = deps
  let made: MasterParts | undefined
  const later: Later = () => {
    if (made === undefined) throw new SupervisorError('SUP_STOPPED', 'the server is not up yet')
    return made
  }
  const counts = new PurgeCounts()
  const caches = await Caches.open({ spec: access.get, fleets: later, timings, clock, logger, counts }, stack)
  const metrics = new MetricsCollector(timings.metricsTimeoutMs, access.get().config.metrics.include_process, {
    generation: () => access.get().generation,
    up: () => ({ worker: later().workers.ready.length, host: later().hosts.measured.length }),
    isr: {
      entries: () => caches.store.size().entries,
      evictions: () => caches.store.evictions,
      shares: () => caches.store.usages(),
    },
    proxy: { shares: () => caches.proxy.usages() },
    sources: [counts.source],
  })
  const losses = new IsolateLosses()
  const hosts = makeHosts(options, later, losses)
  const workers = makeWorkers(options, later)
  const watcher = makeWatcher(options, later)
  const marks = await SiteMarks.open(join(access.get().config.cache.dir, 'isr-sites.json'), ownDirectories(access))
  const purge = (order: PurgeOrder) => caches.purge(order)
  const surveys = new SiteSurveys({
    ask: (site) => surveySite(hosts, site),
    warm: (site) => workers.warm(site),
    logger,
  })
  const served = new ServedSites({
    marks,
    hasPages: () => caches.store.size().entries > 0,
    purge,
    survey: (site) => surveys.add(site),
    logger,
  })
  const changes = new SiteChanges({
    sites: () => access.get().sites,
    tellHosts: (site, files) =>
      tellOfChange(
        hosts.runningFor(site),
        {
          site,
          files,
          serving: hostsServing(hosts.endpoints, site),
          onGone: (host) => hosts.noteInFlight(host, [site]),
        },
        logger,
      ),
    tellWorkers: (site) => workers.siteChanged(site),
    look: (site) => watcher.look(site),
    purge: (order) => caches.purge(order),
    onChanging: (site) => served.changing(site, access.get().config.env),
    logger,
  })
  const reloader = makeReloader(options, { workers, hosts, caches }, watcher, served)
  const restarts = new RollingRestart(() => hosts.replaceables)
  stack.push('render hosts', () => hosts.stop())
  stack.push('workers', () => workers.stop())
  stack.push('site watcher', () => watcher.close())
  made = {
    spec: access.get,
    workers,
    hosts,
    losses,
    lastReload: () => reloader.last,
    isrTrouble: () => caches.trouble(),
    clock,
    startedAt,
    certificates: options.certificates,
    caches,
    reloader,
    restarts,
    changes,
    served,
    surveys,
    metrics,
    logger,
  }
  return { parts: made, watcher }
}
