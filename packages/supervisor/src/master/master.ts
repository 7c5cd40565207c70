import { availableParallelism } from 'node:os'
import type { LoadResult, ResolvedConfig } from '@svc/config'
import { asError, type Clock, CloseStack, type Deferred, deferred } from '@svc/core'
import type { GenerationSpec } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { ControlServer } from '../control/control-server.ts'
import { siteManifestInfo, siteStatuses } from '../control/site-info.ts'
import { writeReport } from '../diagnostics/write-report.ts'
import { SupervisorError } from '../errors.ts'
import { HostFleet } from '../fleet/host-fleet.ts'
import type { SupervisorTimings } from '../fleet/timings.ts'
import { type Target, WorkerFleet } from '../fleet/worker-fleet.ts'
import { IsolateLosses } from '../health/isolate-losses.ts'
import { MetricsCollector } from '../metrics/metrics-collector.ts'
import { ServiceManager } from '../notify/service-manager.ts'
import { type LaunchSettings, launchHost, launchWorker } from '../process/launch.ts'
import { buildGeneration } from '../reload/generation.ts'
import { Reloader, type ReloadTarget } from '../reload/reloader.ts'
import { checkRunDirLength, makeDirectories } from '../run-dir/directories.ts'
import { lockInstance, runFiles } from '../run-dir/instance-lock.ts'
import { SiteWatcher, watchSettings } from '../watch/site-watcher.ts'
import { healthOf, type InstanceParts, listenUrls, statusOf } from './control-plane.ts'
import type { MasterOptions } from './options.ts'
import { listenForSignals } from './signals.ts'
import { startSummary } from './start-summary.ts'

/** What a master works with. */
export interface MasterDeps {
  readonly options: MasterOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** Reads the configuration anew. */
  readonly load: () => Promise<LoadResult>
  readonly startedAt: number
}

/** The generation in service, which a reload replaces. */
interface GenerationAccess {
  get(): GenerationSpec
  set(spec: GenerationSpec): void
}

interface MasterParts extends InstanceParts {
  readonly reloader: Reloader
}

/** Render hosts have nothing left to do once the workers are gone, but for renders in the background. */
const HOST_DRAIN_MS = 1_000

/** The master process: owns the run directory, the processes and the configuration in service. Runs once. */
export class Master {
  readonly #deps: MasterDeps
  readonly #stack: CloseStack
  readonly #stopAsked: Deferred<void> = deferred()
  readonly #losses = new IsolateLosses()
  #isStopping = false
  #parts: MasterParts | undefined

  constructor(deps: MasterDeps) {
    this.#deps = deps
    this.#stack = new CloseStack((step, error) => deps.logger.error({ err: error }, `could not close ${step}`))
  }

  /** Serves a configuration until a stop is asked for, and drains. Rejects when it cannot start. */
  async run(loaded: ResolvedConfig): Promise<void> {
    this.#stack.push('signals', listenForSignals(this.#signalActions()))
    try {
      const { workers, manager } = await this.#start(loaded)
      await this.#stopAsked.promise
      await manager.announce('STOPPING=1')
      await this.#drain(workers)
    } catch (error) {
      // Asked to stop while it was starting: there is nothing to drain.
      if (!this.#isStopping) throw error
    } finally {
      await this.#stack.close()
    }
  }

  async #start(loaded: ResolvedConfig): Promise<{ workers: WorkerFleet; manager: ServiceManager }> {
    const { logger, clock } = this.#deps
    await this.#takeDirectories(loaded)
    this.#checkStop()
    let spec: GenerationSpec = await buildGeneration(1, loaded, [])
    const access: GenerationAccess = {
      get: () => spec,
      set: (next) => {
        spec = next
      },
    }
    const manager = new ServiceManager(this.#deps.options.source.env, process.pid, clock, (error) =>
      logger.warn({ err: error }, 'the service manager could not be told'),
    )
    this.#stack.push('service manager', () => manager.close())
    const { workers, hosts, watcher } = this.#assemble(access, manager)
    await this.#openControl(loaded)
    this.#checkStop()
    await Promise.race([Promise.all([workers.start(), hosts.start()]), this.#stopAsked.promise])
    this.#checkStop()
    watcher.setSites(spec.sites)
    watcher.start()
    await this.#announceReady(spec, workers, manager)
    hosts.keepSpare()
    return { workers, manager }
  }

  #checkStop(): void {
    if (this.#isStopping) throw new SupervisorError('SUP_STOPPED', 'asked to stop during the start')
  }

  async #takeDirectories({ config }: ResolvedConfig): Promise<void> {
    const { run_dir: runDir, state_dir: stateDir } = config.server
    checkRunDirLength(runDir)
    // The state directory comes first: unless they are set, the others may lie in it.
    await makeDirectories({ 'server.state_dir': stateDir, 'server.run_dir': runDir, 'cache.dir': config.cache.dir })
    const lock = await lockInstance(runDir, process.pid)
    this.#stack.push('instance lock', () => lock.release())
  }

  /** Makes the parts of the instance. Nothing runs yet. */
  #assemble(access: GenerationAccess, manager: ServiceManager): { workers: WorkerFleet; hosts: HostFleet; watcher: SiteWatcher } {
    const { clock, logger, startedAt, timings, options } = this.#deps
    const metrics = new MetricsCollector(timings.metricsTimeoutMs, access.get().config.metrics.include_process, {
      generation: () => access.get().generation,
      up: () => ({ worker: workers.ready.length, host: hosts.processes.length }),
    })
    const target = (): Target => ({ spec: access.get(), hosts: hosts.endpoints })
    const hosts: HostFleet = this.#makeHosts(access.get, metrics, (endpoints) => workers.announceHosts(endpoints))
    const workers: WorkerFleet = this.#makeWorkers(access.get().config.server, target, metrics)
    const watcher = new SiteWatcher({
      settings: watchSettings(options.source.env),
      clock,
      logger,
      isInUse: (site) => hosts.pools.some((pool) => pool.site === site && pool.threads > 0),
      onChange: (site, files) => {
        hosts.siteChanged(site, files)
        workers.siteChanged(site)
      },
    })
    const reloadTarget = makeReloadTarget({ workers, hosts, access, manager, onServed: (spec) => this.#follow(spec, watcher) })
    const reloader = new Reloader({ load: this.#deps.load, current: access.get, target: reloadTarget, clock, logger })
    this.#stack.push('render hosts', () => hosts.stop())
    this.#stack.push('workers', () => workers.stop())
    this.#stack.push('site watcher', () => watcher.close())
    this.#parts = {
      spec: access.get,
      workers,
      hosts,
      losses: this.#losses,
      lastReload: () => reloader.last,
      clock,
      startedAt,
      reloader,
    }
    return { workers, hosts, watcher }
  }

  #makeHosts(
    spec: () => GenerationSpec,
    metrics: MetricsCollector,
    onEndpoints: (hosts: HostFleet['endpoints']) => void,
  ): HostFleet {
    const { clock, logger, timings } = this.#deps
    const { config } = spec()
    const settings = this.#launchSettings(config.server)
    return new HostFleet({
      count: config.render.hosts,
      runDir: config.server.run_dir,
      launch: (id, handlers) => launchHost(settings, `render ${id}`, handlers),
      target: spec,
      timings,
      clock,
      logger,
      onEndpoints,
      onIsolateLost: (site) => this.#losses.note(site, clock.monotonic()),
      onGone: (host) => metrics.gone(host),
      onDeath: () => metrics.countDeath('host'),
    })
  }

  #makeWorkers(server: GenerationSpec['config']['server'], target: () => Target, metrics: MetricsCollector): WorkerFleet {
    const { clock, logger, timings } = this.#deps
    const settings = this.#launchSettings(server)
    return new WorkerFleet({
      count: server.workers === 0 ? availableParallelism() : server.workers,
      launch: (id, handlers) => launchWorker(settings, `worker ${id}`, handlers),
      handlers: {
        hostLost: ({ host, sites }) => {
          this.#require().hosts.noteInFlight(host, sites)
          return undefined
        },
        health: () => healthOf(this.#require()),
        metrics: async () => {
          const { workers, hosts } = this.#require()
          return { text: await metrics.text([...workers.ready, ...hosts.processes]) }
        },
        siteInfo: ({ site }) => siteManifestInfo(target().spec.sites, site),
      },
      target,
      timings,
      clock,
      logger,
      onGone: (worker) => metrics.gone(worker),
      onDeath: () => metrics.countDeath('worker'),
    })
  }

  #launchSettings(server: GenerationSpec['config']['server']): LaunchSettings {
    return {
      programs: this.#deps.options.programs,
      runDir: server.run_dir,
      maxHeaderBytes: server.max_header_bytes,
      onProblem: (name, error) => this.#deps.logger.warn({ err: error }, `trouble with ${name}`),
    }
  }

  /** What the master itself takes from a new generation. */
  #follow(spec: GenerationSpec, watcher: SiteWatcher): void {
    this.#deps.logger.level = spec.config.logging.level
    watcher.setSites(spec.sites)
  }

  #require(): MasterParts {
    if (this.#parts === undefined) throw new SupervisorError('SUP_STOPPED', 'the server is not up yet')
    return this.#parts
  }

  async #openControl({ config }: ResolvedConfig): Promise<void> {
    const { logger } = this.#deps
    const handlers = {
      status: () => statusOf(this.#require()),
      reload: () => this.#require().reloader.reload(),
      stop: () => {
        setImmediate(() => this.#askStop('control socket'))
        return { pid: process.pid }
      },
      sites: () => {
        const { spec, hosts } = this.#require()
        return { sites: siteStatuses(spec().sites, hosts.endpoints, hosts.quarantined) }
      },
      routes: ({ site }: { site: string }) => siteManifestInfo(this.#require().spec().sites, site),
    }
    const control = new ControlServer(runFiles(config.server.run_dir).controlSocket, handlers, (error) =>
      logger.warn({ err: error }, 'trouble with a control client'),
    )
    await control.start()
    this.#stack.push('control socket', () => control.close())
  }

  async #announceReady(spec: GenerationSpec, workers: WorkerFleet, manager: ServiceManager): Promise<void> {
    const line = {
      event: 'ready',
      pid: process.pid,
      listen: listenUrls(spec),
      workers: workers.count,
      sites: spec.sites.length,
      generation: spec.generation,
      took_ms: Math.round(this.#deps.clock.monotonic() - this.#deps.startedAt),
    }
    const isForPerson = spec.config.logging.format === 'pretty'
    if (isForPerson) process.stderr.write(startSummary(spec, line.took_ms))
    // Programs read the line; a person at a terminal has just been told.
    if (!(isForPerson && process.stdout.isTTY)) process.stdout.write(`${JSON.stringify(line)}\n`)
    await manager.ready()
  }

  #signalActions() {
    const { logger } = this.#deps
    const failed = (what: string) => (error: unknown) => logger.error({ err: asError(error) }, `${what} failed`)
    return {
      stop: (signal: string) => this.#askStop(signal),
      cut: (signal: string) => this.#cut(signal),
      reload: () => void this.#parts?.reloader.reload().catch(failed('reload')),
      diagnose: () => void this.#diagnose().catch(failed('diagnostic report')),
    }
  }

  #askStop(why: string): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#deps.logger.info({ why }, 'stopping')
    this.#stopAsked.resolve()
  }

  #cut(signal: string): void {
    this.#deps.logger.warn({ signal }, 'second signal: everything in flight is cut')
    this.#parts?.workers.cut()
    this.#parts?.hosts.cut()
  }

  async #drain(workers: WorkerFleet): Promise<void> {
    const { spec, hosts } = this.#require()
    const cut = await workers.drain(spec().config.scaling.graceful_shutdown_timeout_secs * 1000)
    await hosts.drain(HOST_DRAIN_MS)
    this.#deps.logger.info({ cut }, `stopped; ${cut} requests and connections were cut`)
  }

  async #diagnose(): Promise<void> {
    const parts = this.#require()
    const path = await writeReport(parts.spec().config.server.state_dir, statusOf(parts), new Date(this.#deps.clock.now()))
    this.#deps.logger.info({ path }, 'diagnostic report written')
  }
}

interface ReloadTargetParts {
  readonly workers: WorkerFleet
  readonly hosts: HostFleet
  readonly access: GenerationAccess
  readonly manager: ServiceManager
  readonly onServed: (spec: GenerationSpec) => void
}

/** Carries a generation to all processes. Hosts swap first: a worker must not send them a site that they do not know yet. */
function makeReloadTarget(parts: ReloadTargetParts): ReloadTarget {
  const { workers, hosts, access, manager, onServed } = parts
  return {
    async prepare(spec) {
      await manager.announce('RELOADING=1')
      const [prepared] = await Promise.all([workers.prepare({ spec, hosts: hosts.endpoints }), hosts.prepare(spec)])
      return async () => {
        access.set(spec)
        await hosts.commit(spec.generation)
        await workers.commit(prepared, spec.generation)
        hosts.sitesChanged(spec.sites.map((site) => site.id))
        onServed(spec)
        await manager.announce('READY=1')
      }
    },
    abandon(generation) {
      workers.abandon(generation)
      hosts.abandon(generation)
      manager.announce('READY=1').catch(() => undefined)
    },
  }
}
