import { isDeepStrictEqual } from 'node:util'
import { asError, CloseStack, codeOf, type Deferred, deferred, type Handlers } from '@svc/core'
import {
  coalesce,
  holdSite,
  launchHost,
  listenForSignals,
  ServiceManager,
  SiteWatcher,
  SupervisorError,
  unitsSocket,
  watchSettings,
} from '@svc/processes'
import type { HostSpec, hostParentMethods, SiteFile } from '@svc/protocol'
import { MasterLink } from './master-link.ts'
import type { SiteUnitDeps } from './options.ts'
import { readSiteFile } from './read-site-file.ts'
import { unitHandlers } from './unit-handlers.ts'
import { UnitHost } from './unit-host.ts'

/** Ample time for a purge or a change of files of a large site on a busy machine. */
const MASTER_TIMEOUT_MS = 60_000
/** Workers have this long to confirm that they send nothing more; then the unit stops waiting. */
const LEAVE_TIMEOUT_MS = 10_000

/** The process of a site that has its own: runs the render host, watches the files, follows the master. Runs once. */
export class SiteUnit {
  readonly #deps: SiteUnitDeps
  readonly #stack: CloseStack
  readonly #stopAsked: Deferred<void> = deferred()
  readonly #started: Deferred<void> = deferred()
  readonly #takeFileIn = coalesce(() => this.#reload())
  #file: SiteFile
  #isStopping = false
  #host: UnitHost | undefined
  #link: MasterLink | undefined
  #manager: ServiceManager | undefined

  constructor(file: SiteFile, deps: SiteUnitDeps) {
    this.#file = file
    this.#deps = deps
    this.#stack = new CloseStack((step, error) => deps.logger.error({ err: error }, `failed to close ${step}`))
  }

  /** Serves the site until it is told to stop, then drains. Rejects if the start fails. */
  async run(): Promise<void> {
    this.#stack.push('signals', listenForSignals(this.#signalActions()))
    try {
      const { host, link, manager } = await this.#start()
      await this.#stopAsked.promise
      await manager.announce('STOPPING=1')
      await this.#drain(host, link)
    } catch (error) {
      // Stopped during the start: there is nothing to drain.
      if (!this.#isStopping) throw error
    } finally {
      await this.#stack.close()
    }
  }

  async #start() {
    const { options, logger, clock } = this.#deps
    await this.#takeSite()
    const manager = new ServiceManager(options.env, process.pid, clock, (error) =>
      logger.warn({ err: error }, 'failed to notify the service manager'),
    )
    this.#manager = manager
    this.#stack.push('service manager', () => manager.close())
    const host = this.#makeHost()
    this.#host = host
    this.#stack.push('render host', () => host.stop())
    const link = this.#makeLink(host)
    this.#link = link
    await Promise.race([host.start(), this.#stopAsked.promise])
    if (this.#isStopping) throw new SupervisorError('SUP_STOPPED', 'stopped during the start')
    this.#startWatcher(host)
    link.start()
    this.#stack.push('connection to the server', () => link.close())
    this.#announceReady()
    await manager.ready()
    this.#started.resolve()
    return { host, link, manager }
  }

  async #takeSite(): Promise<void> {
    const { site, runDir } = this.#deps.options
    const holder = await holdSite(runDir, site)
    if (holder === undefined) {
      throw new SupervisorError('SUP_UNIT_RUNNING', { site, runDir })
    }
    // It keeps the process alive while there is neither a host nor a connection to the server.
    holder.ref()
    this.#stack.push('lock of the site', () => {
      holder.close()
    })
  }

  #makeHost(): UnitHost {
    const { options, timings, clock, logger } = this.#deps
    const settings = {
      programs: { worker: '', renderHost: options.renderHost },
      runDir: options.runDir,
      maxHeaderBytes: 0,
      onProblem: (name: string, error: Error) => logger.warn({ err: error }, `failure in ${name}`),
    }
    return new UnitHost(this.#file.spec, {
      launch: (id) => launchHost(settings, `render ${id}`, this.#hostHandlers()),
      socket: this.#file.socket,
      token: () => this.#file.token,
      timings,
      clock,
      logger,
      onReplaced: async () => {
        try {
          await this.#link?.require().call('hostReplaced', undefined, { timeoutMs: LEAVE_TIMEOUT_MS })
        } catch (error) {
          // Without a server there are no workers to notify.
          if (codeOf(error) !== 'SUP_NO_SERVER')
            logger.warn({ err: asError(error) }, 'failed to notify the server of a new render host')
        }
      },
    })
  }

  /** Forwards requests of the site's code to the master, which alone can run them. */
  #hostHandlers(): Handlers<typeof hostParentMethods> {
    const master = () => {
      if (this.#link === undefined) throw new SupervisorError('SUP_NO_SERVER', 'not connected to the server yet')
      return this.#link.require()
    }
    return {
      purge: ({ order }) => master().call('purge', { order }, { timeoutMs: MASTER_TIMEOUT_MS }),
      isolateLost: (loss) => {
        if (this.#link?.isUp === true) master().notify('isolateLost', loss)
        return undefined
      },
    }
  }

  #makeLink(host: UnitHost): MasterLink {
    const { options, clock, logger } = this.#deps
    return new MasterLink({
      socket: unitsSocket(options.runDir),
      site: options.site,
      token: () => this.#currentToken(host),
      handlers: unitHandlers(host),
      onLost: () => host.detach(),
      clock,
      logger,
    })
  }

  /** Returns the current token: a server that has lost its directory has made another, which the workers use. */
  async #currentToken(host: UnitHost): Promise<string> {
    const before = this.#file.token
    try {
      this.#file = await readSiteFile(this.#deps.options.runDir, this.#deps.options.site)
    } catch (error) {
      this.#deps.logger.debug({ err: asError(error) }, 'failed to read the file of the site')
    }
    if (this.#file.token !== before) await host.replace()
    return this.#file.token
  }

  #startWatcher(host: UnitHost): void {
    const { options, clock, logger } = this.#deps
    const watcher = new SiteWatcher({
      own: this.#file.ownDirectories,
      settings: watchSettings(options.env),
      clock,
      logger,
      isInUse: () => host.host?.pools.some(({ threads }) => threads > 0) === true,
      onChange: (site, files) => void this.#filesChanged(host, site, files),
    })
    watcher.setSites(host.target.sites)
    watcher.start()
    host.onTarget = ({ sites }) => watcher.setSites(sites)
    this.#stack.push('site watcher', () => watcher.close())
  }

  /** The master notifies all processes, including this unit's render host; without a master only that host. Never rejects. */
  async #filesChanged(host: UnitHost, site: string, files: readonly string[]): Promise<void> {
    const timeoutMs = MASTER_TIMEOUT_MS
    try {
      if (this.#link?.isUp === true) await this.#link.require().call('filesChanged', { files: [...files] }, { timeoutMs })
      else await host.require().peer.call('siteChanged', { site, files: [...files] }, { timeoutMs })
    } catch (error) {
      this.#deps.logger.error({ err: asError(error) }, 'failed to propagate a file change')
    }
  }

  #announceReady(): void {
    const { options, clock, startedAt } = this.#deps
    const line = {
      event: 'ready',
      pid: process.pid,
      site: options.site,
      socket: this.#file.socket,
      generation: this.#file.spec.generation,
      took_ms: Math.round(clock.monotonic() - startedAt),
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }

  #signalActions() {
    const { logger } = this.#deps
    return {
      stop: (signal: string) => this.#askStop(signal),
      cut: (signal: string) => {
        logger.warn({ signal }, 'second signal: cutting everything in flight')
        this.#host?.cut()
      },
      reload: () => this.#askReload(),
      diagnose: () => logger.info(this.#facts(), 'diagnosis'),
    }
  }

  #facts() {
    const host = this.#host?.host
    return {
      connected: this.#link?.isUp === true,
      generation: host?.generation,
      host_pid: host?.pid,
      rss_bytes: host?.rssBytes,
      pools: host?.pools,
    }
  }

  /** Reloads after the start: during it, the service manager would get READY too early. */
  #askReload(): void {
    const run = async () => {
      await this.#started.promise
      if (!this.#isStopping) await this.#takeFileIn()
    }
    run().catch((error) => this.#deps.logger.error({ err: asError(error) }, 'failed to reload the file of the site'))
  }

  #askStop(why: string): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#deps.logger.info({ why }, 'stopping')
    this.#stopAsked.resolve()
  }

  /** Reloads the file of the site. A connected master sends the configuration itself, and has written the same. */
  async #reload(): Promise<void> {
    const { options, logger } = this.#deps
    const host = this.#host
    await this.#manager?.announce('RELOADING=1')
    try {
      const file = await readSiteFile(options.runDir, options.site)
      if (host !== undefined && this.#link?.isUp !== true && isChanged(host.target, file.spec)) {
        this.#file = { ...file, token: this.#file.token }
        await host.apply(file.spec)
      }
      logger.info({ generation: host?.target.generation }, 'reloaded the file of the site')
    } finally {
      await this.#manager?.announce('READY=1')
    }
  }

  async #drain(host: UnitHost, link: MasterLink): Promise<void> {
    const { logger } = this.#deps
    try {
      if (link.isUp) await link.require().call('leaving', undefined, { timeoutMs: LEAVE_TIMEOUT_MS })
    } catch (error) {
      logger.warn({ err: asError(error) }, 'failed to notify the server that this unit is stopping')
    }
    await host.drain(host.target.config.scaling.graceful_shutdown_timeout_secs * 1000)
    logger.info('stopped')
  }
}

function isChanged(before: HostSpec, after: HostSpec): boolean {
  return !isDeepStrictEqual(JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after)))
}
