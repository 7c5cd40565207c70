import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { ResolvedConfig } from '@svc/config'
import { asError, CloseStack, type Deferred, deferred, printable } from '@svc/core'
import {
  listenForSignals,
  lockDirectory,
  makeDirectories,
  makeModuleDirectory,
  removeSockets,
  ServiceManager,
  SupervisorError,
} from '@svc/processes'
import { type GenerationSpec, LOOP_TOKEN_BYTES } from '@svc/protocol'
import { AcmeStore } from '../acme/acme-store.ts'
import { AutomaticCertificates } from '../acme/automatic-certificates.ts'
import { orderCertificate } from '../acme/order-certificate.ts'
import { Proofs } from '../acme/proofs.ts'
import { ControlServer } from '../control/control-server.ts'
import { writeReport } from '../diagnostics/write-report.ts'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { buildGeneration, type ServableConfig } from '../reload/generation.ts'
import { lockInstance, runFiles } from '../run-dir/instance-lock.ts'
import { keepFresh } from '../run-dir/keep-fresh.ts'
import { Certificates } from '../tls/certificates.ts'
import { assemble } from './assemble.ts'
import { listenUrls, statusOf } from './control-plane.ts'
import { controlHandlers } from './handlers.ts'
import type { MasterDeps } from './options.ts'
import type { MasterParts } from './parts.ts'
import type { GenerationAccess } from './reload-target.ts'
import { sharedSites } from './render-hosts.ts'
import { startSummary } from './start-summary.ts'

/** Once the workers are gone, render hosts have only background renders left. */
const HOST_DRAIN_MS = 1_000

/** Work that can wait is delayed by this, so that the first requests have the machine to themselves. */
const AFTER_START_MS = 500

/** The master process: owns the run directory, the processes and the configuration in service. Runs once. */
export class Master {
  readonly #deps: MasterDeps
  readonly #stack: CloseStack
  readonly #stopAsked: Deferred<void> = deferred()
  readonly #started: Deferred<void> = deferred()
  #isStopping = false
  #parts: MasterParts | undefined

  constructor(deps: MasterDeps) {
    this.#deps = deps
    this.#stack = new CloseStack((step, error) => deps.logger.error({ err: error }, `failed to close ${step}`))
  }

  /** Serves a configuration until it is told to stop, then drains. Rejects if the start fails. */
  async run(loaded: ServableConfig): Promise<void> {
    this.#stack.push('signals', listenForSignals(this.#signalActions()))
    try {
      const { workers, manager } = await this.#start(loaded)
      await this.#stopAsked.promise
      await manager.announce('STOPPING=1')
      await this.#drain(workers)
    } catch (error) {
      // Stopped during the start: there is nothing to drain.
      if (!this.#isStopping) throw error
    } finally {
      await this.#stack.close()
    }
  }

  /** Reloads the configuration, after the start if that is still running. Logs errors. */
  reload(): void {
    const { logger } = this.#deps
    const run = async () => {
      await this.#started.promise
      if (!this.#isStopping) await this.#parts?.reloader.reload()
    }
    run().catch((error) => logger.error({ err: asError(error) }, 'reload failed'))
  }

  async #start(loaded: ServableConfig): Promise<{ workers: WorkerFleet; manager: ServiceManager }> {
    const { logger, clock } = this.#deps
    await this.#takeDirectories(loaded)
    this.#checkStop()
    const { proofs, automatic } = await this.#makeAutomatic(loaded)
    const certificates = new Certificates(loaded.config.server.run_dir, automatic, clock)
    this.#stack.push('certificates', () => certificates.close())
    let spec: GenerationSpec = await buildGeneration(1, loaded, {
      listen: [],
      certificates,
      loopToken: randomBytes(LOOP_TOKEN_BYTES).toString('base64url'),
    })
    const access: GenerationAccess = {
      get: () => spec,
      set: (next) => {
        spec = next
      },
    }
    const manager = new ServiceManager(this.#deps.options.source.env, process.pid, clock, (error) =>
      logger.warn({ err: error }, 'failed to notify the service manager'),
    )
    this.#stack.push('service manager', () => manager.close())
    this.#stack.push('unix sockets', () => removeSockets(access.get().listen))
    const started = this.#started.promise
    const common = { deps: this.#deps, access, manager, certificates, automatic, proofs, started }
    const { parts, watcher } = await assemble({ ...common, stack: this.#stack })
    this.#parts = parts
    const { workers, hosts, served } = parts
    await this.#openControl(loaded)
    this.#checkStop()
    const starting = Promise.all([workers.start(), hosts.start(), served.begin(spec)])
    await Promise.race([starting, this.#stopAsked.promise])
    this.#checkStop()
    watcher.setSites(sharedSites(spec))
    await certificates.served(spec.tls)
    await this.#announceReady(spec, workers, manager)
    this.#started.resolve()
    this.#stack.push(
      'work after the start',
      clock.after(AFTER_START_MS, () => {
        watcher.start()
        hosts.keepSpare()
        served.ready(access.get().sites)
        const { config, web } = access.get()
        automatic.serve({ config, web, certificates: certificates.files })
      }),
    )
    return { workers, manager }
  }

  async #makeAutomatic({ config }: ResolvedConfig): Promise<{ proofs: Proofs; automatic: AutomaticCertificates }> {
    const { clock, logger } = this.#deps
    const store = new AcmeStore(join(config.server.state_dir, 'acme'))
    await store.prune().catch((error) => logger.warn({ err: asError(error) }, 'failed to delete partial certificate files'))
    const proofs = new Proofs((all) => this.#require().workers.setProofs(all))
    const automatic = new AutomaticCertificates({
      store,
      order: (host, settings, signal) => orderCertificate(host, settings, { store, proofs, signal }),
      onIssued: () => this.#require().reloader.renewCertificates(),
      clock,
      logger,
    })
    this.#stack.push('automatic certificates', () => automatic.close())
    return { proofs, automatic }
  }

  #checkStop(): void {
    if (this.#isStopping) throw new SupervisorError('SUP_STOPPED', 'stopped during the start')
  }

  async #takeDirectories({ config, moduleDir }: ResolvedConfig): Promise<void> {
    const { run_dir: runDir, state_dir: stateDir } = config.server
    // The state directory comes first: unless they are set, the others may lie in it.
    await makeDirectories({ 'server.state_dir': stateDir, 'server.run_dir': runDir, 'cache.dir': config.cache.dir })
    await makeModuleDirectory(moduleDir)
    const lock = await lockInstance(runDir, process.pid)
    this.#stack.push('instance lock', () => lock.release())
    const { clock, logger } = this.#deps
    const end = keepFresh(runDir, clock, (error) =>
      logger.warn({ err: asError(error) }, 'failed to touch files of the run directory'),
    )
    this.#stack.push('files of the run directory', end)
    this.#stack.push('state directory', await lockDirectory('state', stateDir, 'server.state_dir'))
    this.#stack.push('cache directory', await lockDirectory('cache', config.cache.dir, 'cache.dir'))
  }

  #require(): MasterParts {
    if (this.#parts === undefined) throw new SupervisorError('SUP_STOPPED', 'the server is not up yet')
    return this.#parts
  }

  async #openControl({ config }: ResolvedConfig): Promise<void> {
    const { logger } = this.#deps
    const handlers = controlHandlers(this.#require(), () => this.#askStop('control socket'))
    const control = new ControlServer(runFiles(config.server.run_dir).controlSocket, handlers, (error) =>
      logger.warn({ err: error }, 'connection of a control client failed'),
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
    if (isForPerson) process.stderr.write(printable(startSummary(spec, line.took_ms)))
    // Programs read this line; a person at a terminal has just seen the summary.
    if (!(isForPerson && process.stdout.isTTY)) process.stdout.write(`${JSON.stringify(line)}\n`)
    await manager.ready()
  }

  #signalActions() {
    const { logger } = this.#deps
    return {
      stop: (signal: string) => this.#askStop(signal),
      cut: (signal: string) => this.#cut(signal),
      reload: () => this.reload(),
      diagnose: () => void this.#diagnose().catch((error) => logger.error({ err: asError(error) }, 'diagnostic report failed')),
    }
  }

  #askStop(why: string): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#deps.logger.info({ why }, 'stopping')
    this.#stopAsked.resolve()
  }

  #cut(signal: string): void {
    this.#deps.logger.warn({ signal }, 'second signal: cutting everything in flight')
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
    this.#deps.logger.info({ path }, 'wrote a diagnostic report')
  }
}
