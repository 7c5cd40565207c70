import { forgetModules } from '@svc/compile/caches'
import type { CallContext, Handlers } from '@svc/core'
import type { HostIsolate, hostMethods, ModulePurge, RenderRequest } from '@svc/protocol'
import {
  addDataCounts,
  addProcessMetrics,
  createLogger,
  type Logger,
  type LogLine,
  MetricSet,
  RenderMetrics,
} from '@svc/telemetry'
import type { LossReason } from '../contract/thread-messages.ts'
import { readGuestFiles } from '../thread/guest-files.ts'
import { routeIdOf } from '../thread/route-files.ts'
import { CachePruner } from './cache-pruner.ts'
import { HostCaches, type HostCachesOptions } from './data/host-caches.ts'
import { HostServer } from './host-server.ts'
import { HostSites } from './host-sites.ts'
import { RenderJob, report } from './render-job.ts'
import { SiteLog } from './site-log.ts'
import type { SitePool } from './site-pool.ts'
import type { SiteDependencies } from './site-runtime.ts'
import { SiteScanner } from './site-scanner.ts'
import { SpareThread } from './spare-thread.ts'
import { ThreadBudget } from './thread-budget.ts'

/** How often idle and stuck threads are looked for. */
const SWEEP_MS = 1_000
/** How long renders may go on in a process with a thread that nothing can stop. No new ones begin: workers send them elsewhere. */
const LAST_RENDERS_MS = 300
const DRAIN_CHECK_MS = 20

/** Options of a `RenderHost`. */
interface RenderHostOptions {
  /** URL of the program of render threads. */
  readonly threadProgram: string
  /** Path of the program of scan processes. */
  readonly scanProgram: string
  readonly guestDir: string
  /** Tells the master that a site's isolate ended other than by idling. */
  readonly onLost: (site: string, reason: LossReason) => void
  /** Has the master carry out a purge; resolves when it is done. */
  readonly sendPurge: HostCachesOptions['sendPurge']
  /** Has the master run a script on the cache that instances share. */
  readonly relay: HostCachesOptions['relay']
  /** Receives each line of the log. */
  readonly onLogLine: (line: LogLine) => void
  /** Ends the process at once, whatever its threads do. */
  readonly die: () => void
}

/** One render host: the sites, the workers' server, and the calls of the master. */
export class RenderHost {
  readonly #options: RenderHostOptions
  readonly #budget = new ThreadBudget(Number.POSITIVE_INFINITY)
  readonly #threads: SpareThread
  readonly #scanner: SiteScanner
  readonly #sites: HostSites
  readonly #metrics = new MetricSet()
  readonly #renderMetrics: RenderMetrics
  readonly #sweep: NodeJS.Timeout
  readonly #pruner = new CachePruner({
    specs: () => Array.from(this.#sites.all, ({ spec }) => spec),
    log: () => this.#log,
  })
  readonly #caches: HostCaches
  #log: Logger
  #server: HostServer | undefined
  #active = 0
  #isDying = false

  constructor(options: RenderHostOptions) {
    this.#options = options
    this.#log = this.#logger({ level: 'info', format: 'json' })
    addProcessMetrics(this.#metrics)
    this.#renderMetrics = new RenderMetrics(this.#metrics, () => this.#threadCounts())
    this.#threads = new SpareThread({
      program: options.threadProgram,
      budget: this.#budget,
      isQuiet: () => this.#active === 0,
      onFailed: (error) => this.#log.error({ err: error }, 'a spare render thread ended'),
      onCloseFailed: (error) => this.#log.error({ err: error }, 'failed to close a spare render thread'),
    })
    this.#caches = new HostCaches({
      sendPurge: options.sendPurge,
      relay: options.relay,
      counts: addDataCounts(this.#metrics),
      onProblem: (error, what) => this.#log.error({ err: error }, what),
    })
    this.#scanner = new SiteScanner({ program: options.scanProgram })
    this.#sites = new HostSites({
      threads: this.#threads,
      scanner: this.#scanner,
      guestDir: options.guestDir,
      budget: this.#budget,
      eventsFor: (site) => this.#eventsFor(site),
      serve: (site, port, compile) => this.#caches.services.serve(site, port, compile),
      onRetireFailed: (error) => this.#log.error({ err: error }, 'failed to close a pool'),
    })
    this.#sweep = setInterval(() => this.#sweepPools(), SWEEP_MS)
    this.#sweep.unref()
  }

  /** Methods for the master. */
  get handlers(): Handlers<typeof hostMethods> {
    return {
      start: async ({ id, socket, token }) => await this.#start(id, socket, token),
      prepare: async ({ spec, purges }) => {
        this.#log = this.#logger(spec.config.logging)
        await this.#caches.prepare(spec.config.cache, purges)
        return this.#sites.prepare(spec) as undefined
      },
      commit: ({ generation }) => this.#sites.commit(generation) as undefined,
      abandon: ({ generation }) => this.#sites.abandon(generation) as undefined,
      survey: async ({ site }) => await this.#sites.site(site).survey(),
      tryOut: async ({ spec }) => await this.#sites.tryOut(spec),
      siteChanged: async ({ site, files }) => await this.#sites.site(site).changed(files),
      purgeModules: async (purge) => ({ evicted: await this.#purgeModules(purge) }),
      modules: async ({ site }) => ({ isolates: await this.#caches.services.modules(site) }),
      heapSnapshot: async ({ site, target }) => ({ bytes: await this.#caches.services.heapSnapshot(site, target) }),
      ...this.#caches.handlers,
      purge: async (message, context) => {
        // The swap to a release is a purge for changed code: the pages of the release are newer. An edit clears them with its files.
        if (message.purge.changedCode === undefined) this.#sites.clearAhead()
        return await this.#caches.handlers.purge(message, context)
      },
      isolates: async ({ sites }) => ({ isolates: await this.#isolates(sites) }),
      flush: async ({ site }) => ({ isolates: await this.#sites.flush(site) }),
      usedRoutes: () => ({
        sites: [...this.#sites.all]
          .map(({ id, usedRoutes }) => ({ site: id, routes: usedRoutes }))
          .filter(({ routes }) => routes.length > 0),
      }),
      warm: async ({ site, routes }) => (await this.#sites.site(site).warm(routes)) as undefined,
      drain: async ({ timeoutMs }) => await this.#drain(timeoutMs),
      ping: () => ({ rssBytes: process.memoryUsage.rss(), pools: this.#pools(), hasSpareThread: this.#threads.isReady }),
      metrics: async () => ({ metrics: this.#metrics.toJson() }),
    }
  }

  /** Ends server and threads at once. */
  async close(): Promise<void> {
    clearInterval(this.#sweep)
    this.#pruner.stop()
    const flushed = this.#server?.close()
    this.#scanner.close()
    await this.#sites.close()
    await this.#caches.close()
    await flushed
  }

  async #start(id: string, socket: string, token: string): Promise<undefined> {
    // Without a guest nothing can be rendered: the master is to know at once.
    readGuestFiles(this.#options.guestDir)
    this.#server = new HostServer({
      id,
      token,
      onWelcome: () => this.#threads.want(),
      onProblem: (error) => this.#log.warn({ err: error }, 'connection of a worker failed'),
      handlers: {
        describe: async ({ site, reportsStart }, context) => {
          const described = this.#sites.site(site)
          if (reportsStart === true) report(context, 'begun')
          return { manifest: await described.manifest() }
        },
        render: (request, context) => this.#render(request, context),
      },
    })
    await this.#server.listen(socket)
    this.#pruner.start()
    return undefined
  }

  #render(request: RenderRequest, context: CallContext) {
    const site = this.#sites.site(request.site)
    const ahead = site.ahead.take(request)
    if (ahead !== undefined) return Promise.resolve(ahead)
    const pool = site.poolFor(request.manifestVersion, routeIdOf(request.kind, request.route))
    const { timeoutMs } = site.spec.thread
    this.#active++
    // Opening a pool scans the site, and may run its middleware.
    if (request.reportsStart === true && pool instanceof Promise) report(context, 'begun')
    const reply =
      pool instanceof Promise
        ? pool.then((opened) => this.#run(opened, request, context, timeoutMs))
        : this.#run(pool, request, context, timeoutMs)
    return reply.finally(() => this.#active--)
  }

  #run(pool: SitePool, request: RenderRequest, context: CallContext, timeoutMs: number) {
    const job = new RenderJob({
      number: this.#sites.nextNumber(),
      request,
      context,
      pool,
      timeoutMs,
      onMeasured: (queueMs, renderMs) => {
        this.#renderMetrics.wait.observe(queueMs / 1000)
        this.#renderMetrics.duration.observe(renderMs / 1000)
      },
    })
    if (!context.isAborted) {
      try {
        pool.run(job)
        job.queued()
      } catch (error) {
        job.fail(error as Error)
      }
    }
    return job.reply
  }

  #eventsFor(site: string): SiteDependencies['events'] {
    const log = new SiteLog({ site, logger: () => this.#log })
    return {
      lost: (reason) => {
        if (reason === 'memory') this.#renderMetrics.oomKills.value++
        this.#log.error({ site, reason }, 'an isolate was stopped')
        this.#options.onLost(site, reason)
      },
      stuck: (reason) => this.#stuck(site, reason),
      died: (error) => {
        this.#log.error({ site, err: error }, 'a render thread ended')
        this.#options.onLost(site, 'crash')
      },
      scanFailed: (reason, error) => {
        this.#log.error({ site, err: error }, 'the directory of a site could not be scanned')
        this.#options.onLost(site, reason)
      },
      compileFailed: (reason, error) => {
        this.#log.error({ site, err: error }, 'modules of a site could not be compiled')
        this.#options.onLost(site, reason)
      },
      log: (level, origin, text) => log.write(level, origin, text),
    }
  }

  /** Native code that cannot be stopped: only another process helps. Renders of other sites may end first. */
  #stuck(site: string, reason: LossReason): void {
    if (this.#isDying) return
    this.#isDying = true
    this.#server?.leave()
    if (reason === 'memory') this.#renderMetrics.oomKills.value++
    this.#log.fatal({ site, reason }, 'code of a site cannot be stopped: this process ends')
    this.#options.onLost(site, reason)
    this.#log.flush()
    this.#whenIdle(LAST_RENDERS_MS).then(this.#options.die, this.#options.die)
  }

  async #drain(timeoutMs: number): Promise<undefined> {
    this.#server?.leave()
    this.#threads.close()
    await this.#whenIdle(timeoutMs, () => !this.#caches.hasOrders)
    return undefined
  }

  /** Resolves when no render is in flight and `isDone` returns true, or after the time. */
  #whenIdle(timeoutMs: number, isDone = () => true): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const deadline = performance.now() + timeoutMs
    const check = () => {
      if ((this.#active === 0 && isDone()) || performance.now() >= deadline) resolve()
      else setTimeout(check, DRAIN_CHECK_MS)
    }
    check()
    return promise
  }

  /** First on disk, so that nothing of it comes back into an isolate. Returns how many modules there were. */
  async #purgeModules(purge: ModulePurge): Promise<number> {
    this.#sites.clearAhead()
    const dirs = [...this.#sites.all][0]?.spec.thread.cacheDirs
    const onDisk = dirs === undefined ? 0 : await forgetModules(dirs, purge)
    return onDisk + (await this.#caches.services.purgeModules(purge))
  }

  #sweepPools(): void {
    const now = performance.now()
    for (const { pools } of this.#sites.all) for (const pool of pools) pool.sweep(now)
    this.#threads.refillSoon()
  }

  #logger({ level, format }: Pick<Parameters<typeof createLogger>[0], 'level' | 'format'>): Logger {
    return createLogger({ level, format, base: { proc: 'render-host' }, onLine: this.#options.onLogLine })
  }

  #pools() {
    return [...this.#sites.all].flatMap(({ id, pool, pools }) => {
      if (pool === undefined) return []
      const all = pools.map(({ counts }) => counts)
      const sum = (name: 'threads' | 'active' | 'queued') => all.reduce((total, counts) => total + counts[name], 0)
      const sums = { threads: sum('threads'), active: sum('active'), queued: sum('queued') }
      return [{ site: id, ...sums }]
    })
  }

  async #isolates(wanted: readonly string[] | undefined): Promise<HostIsolate[]> {
    const sites = [...this.#sites.all].filter(({ id }) => wanted?.includes(id) ?? true)
    const found = await Promise.all(sites.flatMap(({ pools }) => pools).map((pool) => pool.isolates()))
    return found.flat()
  }

  #threadCounts(): { active: number; idle: number } {
    let active = 0
    let total = 0
    for (const { counts } of [...this.#sites.all].flatMap(({ pools }) => pools)) {
      active += counts.busy
      total += counts.threads
    }
    return { active, idle: total - active }
  }
}
