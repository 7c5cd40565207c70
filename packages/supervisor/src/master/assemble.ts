import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { PurgeOrder } from '@svc/cache'
import { workerCount } from '@svc/config'
import { asError, type CloseStack } from '@svc/core'
import type { OwnDirectories, ServiceManager } from '@svc/processes'
import {
  hostsServing,
  type LaunchSettings,
  launchHost,
  launchWorker,
  propagateChange,
  removeSockets,
  SiteWatcher,
  surveySite,
  watchSettings,
} from '@svc/processes'
import type { GenerationSpec, Revocations } from '@svc/protocol'
import type { AutomaticCertificates } from '../acme/automatic-certificates.ts'
import type { Proofs } from '../acme/order-certificate.ts'
import { HeapSnapshots } from '../debug/heap-snapshots.ts'
import { RollingRestart } from '../fleet/rolling-restart.ts'
import { WorkerFleet, type WorkerFleetOptions } from '../fleet/worker-fleet.ts'
import { FlowFeed } from '../flows/flow-feed.ts'
import { relayTo } from '../instances/relay-scripts.ts'
import { LimitZones } from '../limits/limit-zones.ts'
import type { InheritedSockets } from '../listen/inherited-sockets.ts'
import { type LogFiles, logPaths } from '../logs/log-files.ts'
import { MetricsCollector, type MetricsProcess } from '../metrics/metrics-collector.ts'
import type { Overrides } from '../overrides/overrides.ts'
import { SwitchedPlugins } from '../plugins/switched-plugins.ts'
import type { EffectiveValues } from '../reload/effective-values.ts'
import { Reloader, type ReloadTarget } from '../reload/reloader.ts'
import { loadSettled } from '../reload/settled-load.ts'
import { SessionStore } from '../sessions/session-store.ts'
import { Sessions } from '../sessions/sessions.ts'
import type { Certificates } from '../tls/certificates.ts'
import { makeAlerts } from './alert-sources.ts'
import { Caches } from './caches.ts'
import { hostHandlers, workerHandlers } from './handlers.ts'
import { IsolateLosses } from './instance-health.ts'
import type { GenerationAccess, MasterDeps, MasterParts } from './parts.ts'
import { makeRateLimits } from './rate-limits.ts'
import { makeConfigChecks, openRecords, startAnalytics } from './records.ts'
import { makeReleases } from './releases.ts'
import { RenderHosts, type RenderHostsOptions, sharedSites } from './render-hosts.ts'
import { ServedSites } from './served-sites.ts'
import { SiteChanges } from './site-changes.ts'
import { SiteMarks } from './site-marks.ts'
import { SiteSurveys } from './site-surveys.ts'
import { serviceLine } from './start-summary.ts'
import { makeTasks } from './tasks.ts'
import { makeWafRecords } from './waf.ts'

/** Inputs of `assemble`. */
interface AssembleOptions {
  readonly deps: MasterDeps
  readonly access: GenerationAccess
  readonly manager: ServiceManager
  readonly certificates: Certificates
  readonly automatic: AutomaticCertificates
  readonly proofs: Proofs
  readonly overrides: Overrides
  readonly effective: EffectiveValues
  readonly logFiles: LogFiles
  readonly sockets: InheritedSockets
  /** All processes serve. Never rejects. */
  readonly started: Promise<void>
  /** Collects the release of each part. */
  readonly stack: CloseStack
}

/** An instance that is ready to be started. */
interface Instance {
  readonly parts: MasterParts
  readonly watcher: SiteWatcher
}

function launchSettings({ options, logger }: MasterDeps, server: GenerationSpec['config']['server']): LaunchSettings {
  return {
    programs: options.programs,
    runDir: server.run_dir,
    maxHeaderBytes: server.max_header_bytes,
    onProblem: (name, error) => logger.warn({ err: error }, `failure in ${name}`),
  }
}

/** Calls of the render hosts into the rest of the master. None arrives before the hosts are started. */
type HostCalls = Pick<
  RenderHostsOptions['own'],
  'purgeState' | 'purge' | 'sharedScript' | 'changed' | 'onAttached' | 'onServing' | 'onExit'
> &
  Pick<RenderHostsOptions['shared'], 'onDeath'> & { readonly onDrained: (host: MetricsProcess) => Promise<void> } & Pick<
    RenderHostsOptions,
    'onEndpoints'
  >

function makeHosts({ deps, access }: AssembleOptions, losses: IsolateLosses, calls: HostCalls): RenderHosts {
  const { clock, logger, timings } = deps
  const { config } = access.get()
  const { onDeath, onEndpoints, ...own } = calls
  const { purgeState, purge, sharedScript, onDrained, onExit } = own
  const settings = launchSettings(deps, config.server)
  const isolateLost = (site: string) => losses.note(site, clock.monotonic())
  const common = { runDir: config.server.run_dir, timings, clock, logger }
  return new RenderHosts({
    shared: {
      ...common,
      // A server with only static files, upstreams and units needs no process for the code of sites.
      count: () => (sharedSites(access.get()).length > 0 ? config.render.hosts : 0),
      launch: (id, handlers) => launchHost(settings, `render ${id}`, handlers),
      handlers: hostHandlers({ purge, isolateLost, sharedScript, logs: deps.logs }),
      purgeState,
      onDrained,
      onExit,
      onDeath,
    },
    own: { ...common, ...own, isolateLost, log: (site, batch) => deps.logs.addBatch(batch, site) },
    target: access.get,
    onEndpoints,
  })
}

/** Calls of the workers into the rest of the master. None arrives before the workers are started. */
type WorkerCalls = Pick<WorkerFleetOptions, 'handlers' | 'joinState' | 'onReady' | 'onDrained' | 'onExit' | 'onDeath'>

function makeWorkers(
  { deps, access, proofs, logFiles, sockets }: AssembleOptions,
  hosts: RenderHosts,
  calls: WorkerCalls,
): WorkerFleet {
  const { clock, logger, timings } = deps
  const { server } = access.get().config
  const settings = {
    ...launchSettings(deps, server),
    receiveLines: (stream: Readable) => logFiles.receive(stream),
    sockets: sockets.fds,
  }
  return new WorkerFleet({
    count: workerCount(access.get().config),
    launch: (id, handlers) => launchWorker(settings, `worker ${id}`, handlers),
    target: () => ({ spec: access.get(), hosts: hosts.endpoints }),
    proofs: () => proofs.all,
    timings,
    clock,
    logger,
    ...calls,
  })
}

/** Directories that the service writes to. They change only with a restart. */
function ownDirectories({ get }: GenerationAccess): OwnDirectories {
  const { config, moduleDir } = get()
  return [config.server.state_dir, config.server.run_dir, config.cache.dir, moduleDir]
}

/** Counts of requests, and of everything else. */
function makeCounts(
  { deps, access, logFiles }: AssembleOptions,
  { workers, hosts, caches }: Pick<MasterParts, 'workers' | 'hosts' | 'caches'>,
): Pick<MasterParts, 'metrics' | 'rateLimits' | 'limitZones' | 'ruleRates' | 'wafEvents' | 'wafChanges'> {
  const rateLimits = makeRateLimits(access, deps, { workers, caches })
  const metrics = new MetricsCollector(deps.timings.metricsTimeoutMs, {
    generation: () => access.get().generation,
    includesProcess: () => access.get().config.metrics.include_process,
    up: () => ({ worker: workers.ready.length, host: hosts.measured.length }),
    isr: {
      entries: () => caches.store.room.size().entries,
      evictions: () => caches.store.room.evictions,
      shares: () => caches.store.room.usages(),
    },
    proxy: { shares: () => caches.proxy.room.usages() },
    redis: caches.instances,
    rateLimits: { counted: () => rateLimits.counted, localSlices: () => rateLimits.localSlices },
    droppedLines: () => logFiles.droppedLines,
  })
  const limitZones = new LimitZones(() => access.get().web.limitZones, deps.clock)
  return { metrics, rateLimits, limitZones, ...makeWafRecords(access, deps) }
}

interface ChangeParts extends Pick<MasterParts, 'workers' | 'hosts' | 'caches' | 'served'> {
  readonly watcher: SiteWatcher
}

function makeChanges({ deps, access }: AssembleOptions, parts: ChangeParts): SiteChanges {
  const { workers, hosts, caches, served, watcher } = parts
  const { logger } = deps
  return new SiteChanges({
    sites: () => access.get().sites,
    notifyHosts: (site, files) => {
      const serving = hostsServing(hosts.endpoints, site)
      const onExit = (host: string) => hosts.noteInFlight(host, [site])
      return propagateChange(hosts.runningFor(site), { site, files, serving, onExit }, logger)
    },
    notifyWorkers: (site) => {
      for (const { peer } of workers.live) peer.notify('siteChanged', { site })
    },
    look: (site) => watcher.look(site),
    purge: (order) => caches.purge(order),
    onChanging: (site) => served.changing(site, access.get().config.env),
    isChanged: (site) => served.isChanged(site, access.get().config.env),
    logger,
  })
}

/** Distributes a generation to all processes. Hosts swap first: a worker must not send them a site that they do not know yet. */
function makeReloader(
  { deps, access, manager, certificates, automatic, started, overrides, effective, logFiles, sockets }: AssembleOptions,
  { workers, hosts, caches, served, watcher, sessions, tasks }: ChangeParts & Pick<MasterParts, 'sessions' | 'tasks'>,
): Reloader {
  const { clock, logger } = deps
  const load = async () => {
    const loaded = await loadSettled(deps.load, clock)
    if (!loaded.ok) return loaded
    const applied = await overrides.apply(loaded)
    effective.loaded(applied)
    return applied
  }
  const loadPreview = async () => {
    const loaded = await deps.load()
    return loaded.ok ? await overrides.tryOn(loaded) : loaded
  }
  const onServed = async (spec: GenerationSpec, before: GenerationSpec) => {
    logger.level = spec.config.logging.level
    watcher.setSites(sharedSites(spec))
    await certificates
      .served(spec.tls)
      .catch((error) => logger.error({ err: asError(error) }, 'failed to delete old copies of certificates'))
    automatic.serve({ config: spec.config, web: spec.web, certificates: certificates.files })
    await removeSockets(before.listen, spec.listen)
    for (const { name } of sockets.served(before.listen, spec.listen)) {
      logger.warn({ address: name }, 'systemd still holds the socket of an address that was removed: its clients wait in vain')
    }
    caches.setShares(spec.sites)
    effective.served(spec)
    await overrides
      .settle(spec)
      .catch((error) => logger.error({ err: asError(error) }, 'failed to save that an override has ended'))
    await served.reloaded(before, spec)
    tasks.serve(spec.config.tasks)
    logFiles.retain(logPaths(spec))
    await logFiles.reopen()
  }
  const target: ReloadTarget = {
    async prepare(spec) {
      await manager.announce('RELOADING=1', { status: `preparing generation ${spec.generation}` })
      await logFiles.open(logPaths(spec))
      const [prepared] = await Promise.all([workers.prepare({ spec, hosts: hosts.endpoints }), hosts.prepare(spec)])
      return async () => {
        const before = access.get()
        access.set(spec)
        const usersFollowed = sessions.followUsers()
        await hosts.commit(spec.generation)
        await workers.commit(prepared, spec.generation)
        await usersFollowed
        hosts.shared.places.retain(sharedSites(spec).map(({ id }) => id))
        await onServed(spec, before)
        await manager.announce('READY=1', { status: serviceLine(spec) })
      }
    },
    abandon(generation) {
      workers.abandon(generation)
      hosts.abandon(generation)
      logFiles.retain(logPaths(access.get()))
      void manager.announce('READY=1', { status: serviceLine(access.get()) })
    },
  }
  const onFailed = (errors: readonly string[]) => {
    void manager.report(`${serviceLine(access.get())}; the last reload failed: ${errors.join('; ')}`)
  }
  return new Reloader({ load, loadPreview, current: access.get, target, certificates, sockets, started, onFailed, clock, logger })
}

/**
 * Makes the parts of an instance in the order of their dependencies. No process runs yet: calls from the fleets into later parts
 * arrive only after the fleets are started.
 */
export async function assemble(options: AssembleOptions): Promise<Instance> {
  const { deps, access, stack, overrides, effective, certificates } = options
  const { clock, logger, logs, timings, startedAt } = deps
  const spec = access.get
  const losses = new IsolateLosses()
  const hosts = makeHosts(options, losses, {
    purgeState: () => caches.purges.hostState(),
    purge: (order) => caches.purge(order),
    sharedScript: relayTo(() => caches.instances, spec),
    changed: (site, files) => changes.changed(site, files),
    onAttached: (site) => changes.unitAttached(site),
    onServing: (site) => surveys.add(site),
    onEndpoints: (endpoints) => workers.joined.announceHosts(endpoints),
    onDrained: (host) => metrics.processDrained(host),
    onExit: (host) => {
      metrics.processEnded(host)
      caches.hostEnded()
    },
    onDeath: () => metrics.countDeath('host'),
  })
  const workers = makeWorkers(options, hosts, {
    handlers: (connection) => workerHandlers(parts, connection),
    joinState: () => ({ purges: caches.purges.workerState(), revocations: store.revocations, pluginsOff: plugins.all }),
    onReady: (worker) => flowFeed.joined(worker),
    onDrained: (worker) => metrics.processDrained(worker),
    onExit: (worker, connection) => {
      metrics.processEnded(worker)
      caches.workerEnded(connection)
      for (const part of [parts.uploads, parts.limitZones]) part.holderEnded(connection)
    },
    onDeath: () => metrics.countDeath('worker'),
  })
  const plugins = new SwitchedPlugins({ spec, announce: (order) => workers.joined.setPluginOff(order), logger })
  const flowFeed = new FlowFeed(() => workers.ready)
  const store = await SessionStore.open({ file: join(spec().config.server.state_dir, 'sessions.json'), clock, logger })
  const revocations = {
    all: () => store.revocations,
    merge: async (ofOthers: Revocations) => {
      const merged = store.merge(ofOthers)
      if (merged !== undefined) await Promise.all([merged.saved, workers.joined.revoke(merged.ended)])
    },
  }
  const onPurged = ({ layers }: PurgeOrder) => metrics.countPurge(layers)
  const caches = await Caches.open({ spec, workers, hosts, timings, clock, logger, revocations, onPurged }, stack)
  const sessions = new Sessions({
    store,
    admin: () => spec().config.admin,
    announce: async (ended) => {
      await Promise.all([workers.joined.revoke(ended), caches.instances?.revocations.share(ended)])
    },
    clock,
    logger,
  })
  await sessions.followUsers()
  const { metrics, ...counts } = makeCounts(options, { workers, hosts, caches })
  const watcher = new SiteWatcher({
    own: ownDirectories(access),
    settings: watchSettings(deps.options.source.env),
    clock,
    logger,
    isInUse: (site) => hosts.pools.some((pool) => pool.site === site && pool.threads > 0),
    onChange: (site, files) => changes.noticed(site, files),
  })
  const surveys = new SiteSurveys({
    ask: (site) => surveySite(hosts, site),
    isAway: (site) => hosts.own.absent.includes(site),
    warm: (site) => workers.ready[0]?.peer.notify('warm', { site }),
    logger,
  })
  const served = new ServedSites({
    marks: await SiteMarks.open(join(spec().config.cache.dir, 'isr-sites.json'), ownDirectories(access)),
    hasPages: () => caches.store.room.size().entries > 0,
    purge: (order) => caches.purge(order),
    survey: (site) => surveys.add(site),
    logger,
  })
  const changes = makeChanges(options, { workers, hosts, caches, served, watcher })
  const tasks = await makeTasks(access, deps, { workers, caches, metrics }, stack)
  const reloader = makeReloader(options, { workers, hosts, caches, served, watcher, sessions, tasks })
  const restarts = new RollingRestart(() => hosts.replaceables)
  const configChecks = makeConfigChecks(options)
  // Closed after the workers, which report to the end.
  const analytics = startAnalytics(options)
  stack.push('render hosts', () => hosts.stop())
  stack.push('workers', () => workers.stop())
  stack.push('site watcher', () => watcher.close())
  const common = { spec, workers, hosts, flowFeed, losses, clock, startedAt, logger, logs, overrides, effective, certificates }
  const deployment = await makeReleases(options, reloader, hosts)
  const heapSnapshots = new HeapSnapshots(spec().config.server.state_dir, () => clock.now())
  const records = { metrics, ...counts, analytics, heapSnapshots, configChecks, ...(await openRecords(options)) }
  const own = { caches, reloader, restarts, sessions, changes, served, surveys, tasks, plugins, ...records, ...deployment }
  const parts: MasterParts = { ...common, ...own, ...makeAlerts(() => parts, deps, stack) }
  return { parts, watcher }
}
