import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { engineOf, type LoadedConfig } from '@svc/config'
import { asError, printable } from '@svc/core'
import { lockDirectory, makeDirectories, makeModuleDirectory, removeSockets, ServiceRun, SupervisorError } from '@svc/processes'
import { type GenerationSpec, LOOP_TOKEN_BYTES } from '@svc/protocol'
import { prefixLines, prefixOn } from '@svc/telemetry'
import { AcmeStore } from '../acme/acme-store.ts'
import { AutomaticCertificates } from '../acme/automatic-certificates.ts'
import { orderCertificate, Proofs } from '../acme/order-certificate.ts'
import { controlServer } from '../control/control-server.ts'
import { InheritedSockets, readInherited } from '../listen/inherited-sockets.ts'
import { ReservedPorts } from '../listen/reserved-ports.ts'
import { LogFiles, logPaths } from '../logs/log-files.ts'
import { Overrides } from '../overrides/overrides.ts'
import { EffectiveValues } from '../reload/effective-values.ts'
import { buildGeneration, type ServableConfig } from '../reload/reloader.ts'
import { Certificates } from '../tls/certificates.ts'
import { assemble } from './assemble.ts'
import { controlHandlers } from './handlers.ts'
import { metricsExport } from './metrics-export.ts'
import type { GenerationAccess, MasterDeps, MasterParts } from './parts.ts'
import { sharedSites } from './render-hosts.ts'
import { keepFresh, lockInstance, runFiles } from './run-directory.ts'
import { serviceLine, startSummary } from './start-summary.ts'
import { listenUrls, writeReport } from './status.ts'

/** Once the workers have ended, render hosts have only background renders left. */
const HOST_DRAIN_MS = 1_000

/** Work that can wait is delayed by this, so that the first requests have the machine to themselves. */
const AFTER_START_MS = 500
/** A spare takes a fifth of the processor time of the whole start: the first requests come before it. */
const SPARE_AFTER_START_MS = 10_000

/** The configuration that a master starts with. */
type Startable = ServableConfig & Pick<LoadedConfig, 'secretNames' | 'originOf'>

/** The master process: owns the run directory, the processes and the configuration in service. Runs once. */
export class Master {
  readonly #loaded: Startable
  readonly #deps: MasterDeps
  readonly #run: ServiceRun
  readonly #logFiles: LogFiles
  #parts: MasterParts | undefined

  constructor(loaded: Startable, deps: MasterDeps) {
    const { options, clock, logger } = deps
    this.#loaded = loaded
    this.#deps = deps
    this.#logFiles = new LogFiles(clock, logger)
    const service = {
      start: () => this.#start(),
      status: () => serviceLine(this.#require().spec()),
      drain: () => this.#drain(),
      drainMs: () => this.#drainMs(),
      reload: () => this.#parts?.reloader.reload(),
      cut: () => {
        this.#parts?.workers.cut()
        this.#parts?.hosts.shared.cut()
      },
      reopenLogs: async () => logger.info({ files: await this.#logFiles.reopen() }, 'reopened the log files'),
      diagnose: async () => logger.info({ path: await writeReport(this.#require()) }, 'wrote a diagnostic report'),
    }
    this.#run = new ServiceRun(service, options.source.env, clock, logger)
  }

  /** Serves the configuration until a signal or a command stops it, then drains. Rejects if the start fails. */
  run(): Promise<void> {
    return this.#run.run()
  }

  /** Reloads the configuration, after the start if that is still running. Logs errors. */
  reload(): void {
    this.#run.reload()
  }

  async #start(): Promise<void> {
    const { clock } = this.#deps
    const { stack, manager, started } = this.#run
    await this.#takeDirectories()
    this.#run.checkStop()
    stack.push('log files', () => this.#logFiles.close())
    await this.#logFiles.open(logPaths(this.#loaded))
    const overrides = await this.#openOverrides()
    const loaded = await overrides.apply(this.#loaded)
    await overrides.settle(loaded)
    const effective = new EffectiveValues({ spec: () => spec, overrides: () => overrides.list() })
    effective.loaded(loaded)
    effective.served(loaded)
    const { proofs, automatic } = await this.#makeAutomatic()
    const certificates = new Certificates(this.#loaded.config.server.run_dir, automatic, clock)
    stack.push('certificates', () => certificates.close())
    const ports = new ReservedPorts()
    stack.push('reserved ports', () => ports.release())
    const sockets = this.#inheritSockets(loaded)
    let spec: GenerationSpec = await buildGeneration(1, loaded, {
      listen: [],
      ports,
      certificates,
      sockets,
      loopToken: randomBytes(LOOP_TOKEN_BYTES).toString('base64url'),
    })
    const access: GenerationAccess = {
      get: () => spec,
      set: (next) => {
        spec = next
      },
    }
    stack.push('unix sockets', () => removeSockets(access.get().listen))
    const common = {
      deps: this.#deps,
      access,
      manager,
      certificates,
      automatic,
      proofs,
      overrides,
      effective,
      logFiles: this.#logFiles,
      sockets,
      started,
    }
    const { parts, watcher } = await assemble({ ...common, stack })
    this.#parts = parts
    const { workers, hosts, served } = parts
    await parts.caches.instances?.join()
    await this.#openControl()
    this.#run.checkStop()
    await this.#run.unlessStopped(Promise.all([workers.start(), hosts.start(), served.begin(spec)]))
    ports.release()
    watcher.setSites(sharedSites(spec))
    await certificates.served(spec.tls)
    this.#announceReady(spec)
    const exported = metricsExport(parts, this.#deps)
    stack.push('metrics export', () => exported.close())
    stack.push(
      'spare host after the start',
      clock.after(SPARE_AFTER_START_MS, () => hosts.shared.keepSpare()),
    )
    stack.push(
      'work after the start',
      clock.after(AFTER_START_MS, () => {
        watcher.start()
        served.ready(access.get().sites)
        parts.alerts.start()
        void exported.start()
        parts.tasks.serve(access.get().config.tasks)
        const { config, web } = access.get()
        automatic.serve({ config, web, certificates: certificates.files })
      }),
    )
  }

  /** @throws SUP_SOCKETS */
  #inheritSockets({ listen, config }: Startable): InheritedSockets {
    const { options, logger } = this.#deps
    const sockets = new InheritedSockets(readInherited(options.source.env, process.pid))
    sockets.requireAddresses(listen)
    for (const { name } of sockets.without(listen)) {
      logger.warn({ address: name }, 'systemd passed no socket for this address: its clients are refused during a restart')
    }
    const taken = sockets.take(listen, listen)
    if (listen.some((one) => engineOf(one, config) === 'uws' && taken.some(({ name }) => name === one.name))) {
      logger.info({ sockets: sockets.fds.length }, 'engine node serves the sockets of systemd: engine uws cannot take them')
    }
    return sockets
  }

  #openOverrides(): Promise<Overrides> {
    const { clock, logger, options } = this.#deps
    const { state_dir: stateDir } = this.#loaded.config.server
    return Overrides.open({ stateDir, logger, now: () => clock.now(), variables: options.source.env })
  }

  async #makeAutomatic(): Promise<{ proofs: Proofs; automatic: AutomaticCertificates }> {
    const { clock, logger } = this.#deps
    const store = new AcmeStore(join(this.#loaded.config.server.state_dir, 'acme'))
    await store.prune().catch((error) => logger.warn({ err: asError(error) }, 'failed to delete partial certificate files'))
    const proofs = new Proofs((all) => this.#require().workers.joined.setProofs(all))
    const automatic = new AutomaticCertificates({
      store,
      order: (host, settings, signal) => orderCertificate(host, settings, { store, proofs, signal }),
      onIssued: () => this.#require().reloader.renewCertificates(),
      clock,
      logger,
    })
    this.#run.stack.push('automatic certificates', () => automatic.close())
    return { proofs, automatic }
  }

  async #takeDirectories(): Promise<void> {
    const { config, moduleDir } = this.#loaded
    const { run_dir: runDir, state_dir: stateDir } = config.server
    // The state directory comes first: unless they are set, the others may lie in it.
    await makeDirectories({ 'server.state_dir': stateDir, 'server.run_dir': runDir, 'cache.dir': config.cache.dir })
    await makeModuleDirectory(moduleDir)
    const lock = await lockInstance(runDir, process.pid)
    this.#run.stack.push('instance lock', () => lock.release())
    const { clock, logger } = this.#deps
    const end = keepFresh(runDir, clock, (error) =>
      logger.warn({ err: asError(error) }, 'failed to touch files of the run directory'),
    )
    this.#run.stack.push('files of the run directory', end)
    this.#run.stack.push('state directory', await lockDirectory('state', stateDir, 'server.state_dir'))
    this.#run.stack.push('cache directory', await lockDirectory('cache', config.cache.dir, 'cache.dir'))
  }

  #require(): MasterParts {
    if (this.#parts === undefined) throw new SupervisorError('SUP_STOPPED', 'the server is not up yet')
    return this.#parts
  }

  async #openControl(): Promise<void> {
    const { clock, logger } = this.#deps
    const handlers = controlHandlers(this.#require(), () => this.#run.askStop('control socket'))
    const { controlSocket } = runFiles(this.#loaded.config.server.run_dir)
    const control = controlServer(controlSocket, clock, handlers, (error) =>
      logger.warn({ err: error }, 'connection of a control client failed'),
    )
    await control.start()
    this.#run.stack.push('control socket', () => control.close())
  }

  #announceReady(spec: GenerationSpec): void {
    const line = {
      event: 'ready',
      pid: process.pid,
      listen: listenUrls(spec),
      workers: this.#require().workers.count,
      sites: spec.sites.length,
      generation: spec.generation,
      took_ms: Math.round(this.#deps.clock.monotonic() - this.#deps.startedAt),
    }
    const isForPerson = spec.config.logging.format === 'pretty'
    if (isForPerson) process.stderr.write(prefixLines(printable(startSummary(spec, line.took_ms)), prefixOn(2, 'info')))
    // Programs read this line; a person at a terminal has just seen the summary.
    if (!(isForPerson && process.stdout.isTTY)) process.stdout.write(`${prefixOn(1, 'info')}${JSON.stringify(line)}\n`)
  }

  #drainMs(): number {
    return this.#require().spec().config.scaling.graceful_shutdown_timeout_secs * 1000
  }

  async #drain(): Promise<void> {
    const { workers, hosts, tasks } = this.#require()
    tasks.close()
    const cut = await workers.drain(this.#drainMs())
    await hosts.shared.drain(HOST_DRAIN_MS)
    this.#deps.logger.info({ cut }, `stopped; ${cut} requests and connections were cut`)
  }
}
