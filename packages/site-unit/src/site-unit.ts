import { isDeepStrictEqual } from 'node:util'
import { asError, type Clock, coalesce, codeOf, type Handlers, printable, ReplyWithBytes, systemClock } from '@svc/core'
import {
  defaultTimings,
  exitCodeOf,
  holdSite,
  launchHost,
  ServiceRun,
  SiteWatcher,
  SupervisorError,
  type SupervisorTimings,
  unitsSocket,
  watchSettings,
} from '@svc/processes'
import { ExitCode, type HostSpec, type hostParentMethods, type SiteFile } from '@svc/protocol'
import { createLogger, type Logger, prefixLines, prefixOn } from '@svc/telemetry'
import { MasterLink } from './master-link.ts'
import { readSiteFile } from './read-site-file.ts'
import { unitHandlers } from './unit-handlers.ts'
import { UnitHost } from './unit-host.ts'

/** Options of a unit's start. */
interface SiteUnitOptions {
  readonly site: string
  /** Run directory of the site's server. */
  readonly runDir: string
  /** Absolute path of the program of render hosts. */
  readonly renderHost: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Overrides of the default timings. */
  readonly timings?: Partial<SupervisorTimings>
}

/** Dependencies of a unit. */
interface SiteUnitDeps {
  readonly options: SiteUnitOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  readonly startedAt: number
}

/** Ample time for a purge or a change of files of a large site on a busy machine. */
const MASTER_TIMEOUT_MS = 60_000
/** Workers have this long to confirm that they send nothing more; then the unit stops waiting. */
const LEAVE_TIMEOUT_MS = 10_000

/** The process of a site that has its own: runs the render host, watches the files, follows the master. Runs once. */
class SiteUnit {
  readonly #deps: SiteUnitDeps
  readonly #run: ServiceRun
  readonly #host: UnitHost
  readonly #link: MasterLink
  #file: SiteFile

  constructor(file: SiteFile, deps: SiteUnitDeps) {
    const { options, clock, logger } = deps
    this.#file = file
    this.#deps = deps
    this.#host = this.#makeHost()
    this.#link = this.#makeLink()
    const service = {
      start: () => this.#start(),
      status: () => this.#statusLine(),
      drain: () => this.#drain(),
      drainMs: () => this.#drainMs(),
      reload: coalesce(() => this.#reload()),
      cut: () => this.#host.cut(),
      // It has none: its lines go to standard error.
      reopenLogs: async () => undefined,
      diagnose: async () => logger.info(this.#facts(), 'diagnosis'),
    }
    this.#run = new ServiceRun(service, options.env, clock, logger)
  }

  /** Serves the site until a signal stops it, then drains. Rejects if the start fails. */
  run(): Promise<void> {
    return this.#run.run()
  }

  async #start(): Promise<void> {
    const { stack } = this.#run
    await this.#takeSite()
    stack.push('render host', () => this.#host.stop())
    await this.#run.unlessStopped(this.#host.start())
    this.#startWatcher()
    this.#link.start()
    stack.push('connection to the server', () => this.#link.close())
    this.#announceReady()
  }

  async #takeSite(): Promise<void> {
    const { site, runDir } = this.#deps.options
    const holder = await holdSite(runDir, site)
    if (holder === undefined) {
      throw new SupervisorError('SUP_UNIT_RUNNING', { site, runDir })
    }
    // It keeps the process alive while there is neither a host nor a connection to the server.
    holder.ref()
    this.#run.stack.push('lock of the site', () => {
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
          await this.#link.require().call('hostReplaced', undefined, { timeoutMs: LEAVE_TIMEOUT_MS })
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
    return {
      purge: ({ order }) => this.#link.require().call('purge', { order }, { timeoutMs: MASTER_TIMEOUT_MS }),
      sharedScript: async (call, { bytes = new Uint8Array(0) }) => {
        const { reply } = this.#link.require().open('sharedScript', call, { timeoutMs: MASTER_TIMEOUT_MS, bytes })
        const { body, bytes: entry } = await reply
        return entry === undefined ? body : new ReplyWithBytes(body, entry)
      },
      isolateLost: (loss) => {
        if (this.#link.isUp) this.#link.require().notify('isolateLost', loss)
        return undefined
      },
      log: (batch) => this.#link.require().call('log', batch, { timeoutMs: MASTER_TIMEOUT_MS }),
    }
  }

  #makeLink(): MasterLink {
    const { options, clock, logger } = this.#deps
    return new MasterLink({
      socket: unitsSocket(options.runDir),
      site: options.site,
      token: () => this.#currentToken(),
      handlers: unitHandlers(this.#host),
      onLost: () => this.#host.detach(),
      clock,
      logger,
    })
  }

  /** Returns the current token: a server that has lost its directory has made another, which the workers use. */
  async #currentToken(): Promise<string> {
    const before = this.#file.token
    try {
      this.#file = await readSiteFile(this.#deps.options.runDir, this.#deps.options.site)
    } catch (error) {
      this.#deps.logger.debug({ err: asError(error) }, 'failed to read the file of the site')
    }
    if (this.#file.token !== before) await this.#host.replace()
    return this.#file.token
  }

  #startWatcher(): void {
    const { options, clock, logger } = this.#deps
    const host = this.#host
    const watcher = new SiteWatcher({
      own: this.#file.ownDirectories,
      settings: watchSettings(options.env),
      clock,
      logger,
      isInUse: () => host.host?.pools.some(({ threads }) => threads > 0) === true,
      onChange: (site, files) => void this.#filesChanged(site, files),
    })
    watcher.setSites(host.target.sites)
    watcher.start()
    host.onTarget = ({ sites }) => watcher.setSites(sites)
    this.#run.stack.push('site watcher', () => watcher.close())
  }

  /** The master notifies all processes, including this unit's render host; without a master only that host. Never rejects. */
  async #filesChanged(site: string, files: readonly string[]): Promise<void> {
    const timeoutMs = MASTER_TIMEOUT_MS
    try {
      if (this.#link.isUp) await this.#link.require().call('filesChanged', { files: [...files] }, { timeoutMs })
      else await this.#host.require().peer.call('siteChanged', { site, files: [...files] }, { timeoutMs })
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
    process.stdout.write(`${prefixOn(1, 'info')}${JSON.stringify(line)}\n`)
  }

  #drainMs(): number {
    return this.#host.target.config.scaling.graceful_shutdown_timeout_secs * 1000
  }

  #statusLine(): string {
    return `generation ${this.#host.target.generation} of the site ${this.#deps.options.site}`
  }

  #facts() {
    const { host } = this.#host
    return {
      connected: this.#link.isUp,
      generation: host?.generation,
      host_pid: host?.pid,
      rss_bytes: host?.rssBytes,
      pools: host?.pools,
    }
  }

  /** Reloads the file of the site. A connected master sends the configuration itself, and has written the same. */
  async #reload(): Promise<void> {
    const { options, logger } = this.#deps
    const host = this.#host
    const { manager } = this.#run
    await manager.announce('RELOADING=1', { status: 'reading the file of the site' })
    try {
      const file = await readSiteFile(options.runDir, options.site)
      if (!this.#link.isUp && isChanged(host.target, file.spec)) {
        this.#file = { ...file, token: this.#file.token }
        await host.apply(file.spec)
      }
      logger.info({ generation: host.target.generation }, 'reloaded the file of the site')
    } finally {
      await manager.announce('READY=1', { status: this.#statusLine() })
    }
  }

  async #drain(): Promise<void> {
    const { logger } = this.#deps
    try {
      if (this.#link.isUp) await this.#link.require().call('leaving', undefined, { timeoutMs: LEAVE_TIMEOUT_MS })
    } catch (error) {
      logger.warn({ err: asError(error) }, 'failed to notify the server that this unit is stopping')
    }
    await this.#host.drain(this.#drainMs())
    logger.info('stopped')
  }
}

function isChanged(before: HostSpec, after: HostSpec): boolean {
  return !isDeepStrictEqual(JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after)))
}

/**
 * Runs the unit of a site with a process of its own in this process until a signal stops it. Resolves with the exit code of the
 * process, after everything that it started has ended.
 */
export async function runSiteUnit(options: SiteUnitOptions): Promise<number> {
  const startedAt = systemClock.monotonic()
  try {
    const file = await readSiteFile(options.runDir, options.site)
    const { level, format } = file.spec.config.logging
    const logger = createLogger({ level, format, base: { proc: 'site-unit', site: options.site, pid: process.pid } })
    const timings = { ...defaultTimings, ...options.timings }
    await new SiteUnit(file, { options, timings, clock: systemClock, logger, startedAt }).run()
    return ExitCode.ok
  } catch (error) {
    const isOurs = codeOf(error)?.startsWith('SUP_') === true
    const text = `svc: ${printable(String(isOurs ? asError(error).message : asError(error).stack))}\n`
    process.stderr.write(prefixLines(text, prefixOn(2, 'error')))
    return exitCodeOf(error)
  }
}
