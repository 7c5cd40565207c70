import type { MessagePort } from 'node:worker_threads'
import type { SiteConfig } from '@svc/config'
import { asError, codeOf, Gate, messageOf, SingleFlight } from '@svc/core'
import type { RenderRequest, SiteSurvey } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import { noOrigin, type ThreadSettings } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { compileAll } from './compile-all.ts'
import type { CompileModules, ServedSite } from './data/site-services.ts'
import { withMatcher } from './middleware-matcher.ts'
import { PagesAhead } from './pages-ahead.ts'
import { renderUncalled } from './render-job.ts'
import { ScannedSite, type ScannedSiteOptions } from './scanned-site.ts'
import { type PoolEvents, type PoolLimits, type PoolOptions, SitePool } from './site-pool.ts'
import { type CompileReply, reasonOf, type SiteScan, type SiteScanner } from './site-scanner.ts'
import type { ThreadBudget } from './thread-budget.ts'
import { anyRoute, type ChangeReach, touchedRoutes } from './touched-routes.ts'
import { warmPool } from './warm-pool.ts'

/** More routes than these are not loaded ahead of their first request after a flush. */
const MAX_USED_ROUTES = 1_000
/** More changed files than these are taken for: anything may have changed. */
const MAX_CHANGED_FILES = 5_000

/** Everything that decides how a site is run. Two of them that are equal as JSON need no new isolates. */
export interface SiteSpec {
  readonly config: Pick<SiteConfig, 'id' | 'root' | 'public'>
  readonly thread: Omit<ThreadSettings, 'manifest'>
  readonly limits: PoolLimits
  /** Identity and limits of the site, for the host's services to its threads. */
  readonly served: ServedSite
}

type OnScanFailed = ScannedSiteOptions['onFailed']

/** Parts that all site runtimes of a host share. */
export interface SiteDependencies {
  readonly threads: PoolOptions['threads']
  readonly budget: ThreadBudget
  readonly scanner: Pick<SiteScanner, 'scan' | 'compile'>
  readonly events: Omit<PoolEvents, 'serve'> & { readonly scanFailed: OnScanFailed; readonly compileFailed: OnScanFailed }
  /** Answers a thread of the site over a port. */
  readonly serve: (site: ServedSite, port: MessagePort, compile: CompileModules) => void
  readonly nextNumber: () => number
}

/** One site in a render host: its manifest and its pool. Nothing is read or started before it is asked for. */
export class SiteRuntime {
  readonly id: string
  readonly spec: SiteSpec
  readonly ahead = new PagesAhead()
  readonly #shared: SiteDependencies
  readonly #directory: ScannedSite
  readonly #describing = new SingleFlight<'manifest', SiteManifest>()
  #manifest: SiteManifest | undefined
  #pool: SitePool | undefined
  #isRetired = false
  /** Pools that begin or end beside the one that serves. */
  readonly #others = new Set<SitePool>()
  /** Ids of routes that were asked for. */
  readonly #usedRoutes = new Set<string>()
  readonly #turns = new Gate(1)
  readonly #compiles = new Gate(1)
  /** The change that waits for its turn, with all files that have come until then; no files: anything may have changed. */
  #pending: { files: readonly string[]; readonly done: Promise<ChangeReach> } | undefined

  constructor(spec: SiteSpec, shared: SiteDependencies) {
    this.id = spec.config.id
    this.spec = spec
    this.#shared = shared
    const { root, public: publicDir } = spec.config
    this.#directory = new ScannedSite({ root, publicDir, scanner: shared.scanner, onFailed: shared.events.scanFailed })
  }

  /** The pool, when a request has come since the start. */
  get pool(): SitePool | undefined {
    return this.#pool
  }

  /** All its pools: the one that serves, and those that end after a flush. */
  get pools(): SitePool[] {
    return this.#pool === undefined ? [...this.#others] : [this.#pool, ...this.#others]
  }

  /**
   * The manifest with the matcher of its middleware.
   * @throws RENDER_SCAN; RENDER_SITE_REFUSED when nothing of the site may be served
   */
  async manifest(): Promise<SiteManifest> {
    return this.#manifest ?? (await this.#describing.run('manifest', () => this.#describe()))
  }

  /** Sums up the directory of the site. Starts no isolate. */
  survey(): Promise<SiteSurvey> {
    return this.#directory.survey()
  }

  /**
   * Scans the directory and compiles all modules. Without an error it then starts an isolate with the modules of these routes, and
   * renders the pages that are known in advance. Returns the survey, with the errors of the compilation.
   * @param origin of the requests for these pages
   */
  async tryOut(routes: readonly string[], origin: string): Promise<SiteSurvey> {
    const { log } = this.#shared.events
    this.ahead.begin()
    const survey = await this.#directory.survey()
    const manifest = this.#directory.known
    if (manifest === undefined || hasErrors(survey)) return survey
    if (manifest.refusal !== null) return withErrors(survey, [manifest.refusal])
    const errors = await compileAll(manifest, crypto.randomUUID(), (modules) => this.#compile(modules))
    if (errors.length > 0) return withErrors(survey, errors)
    try {
      if (routes.length > 0) await this.warm(routes)
      const served = await this.manifest()
      const pool = this.#ensurePool(served)
      const tools = { nextNumber: this.#shared.nextNumber, timeoutMs: this.spec.thread.timeoutMs }
      const run = (request: RenderRequest) => renderUncalled(request, pool, tools)
      const problems = await this.ahead.render({ id: this.id, manifest: served, origin, run })
      const [first] = problems
      if (first !== undefined) log('warn', noOrigin, `failed to render pages of a release (${problems.length}): ${first}`)
    } catch (error) {
      log('warn', noOrigin, `no isolate could be warmed for a release: ${messageOf(error)}`)
    }
    return survey
  }

  /**
   * The pool for a request of a route that was matched with a version of the manifest.
   * @throws RENDER_STALE_MANIFEST
   */
  poolFor(manifestVersion: string, routeId: string): SitePool | Promise<SitePool> {
    if (this.#usedRoutes.size < MAX_USED_ROUTES) this.#usedRoutes.add(routeId)
    const manifest = this.#manifest
    const checked = (known: SiteManifest) => {
      if (known.version !== manifestVersion) throw stale(this.id)
      return this.#ensurePool(known)
    }
    return manifest === undefined || this.#pool === undefined ? this.manifest().then(checked) : checked(manifest)
  }

  /**
   * Takes in that files have changed; an empty list: look at everything. Resolves when every isolate has, with the patterns of
   * the routes whose code was touched; null: any may be.
   */
  changed(files: readonly string[]): Promise<ChangeReach> {
    this.ahead.clear()
    const before = this.#pending?.files ?? files
    const all = files.length === 0 || before.length === 0 ? [] : [...new Set([...before, ...files])]
    const takeIn = async () => {
      // When the turn is free it begins at once; the change is noted after that.
      await Promise.resolve()
      const { files: noted = [] } = this.#pending ?? {}
      this.#pending = undefined
      return await this.#rescan(noted)
    }
    this.#pending ??= { files, done: this.#turns.run(takeIn) }
    this.#pending.files = all.length > MAX_CHANGED_FILES ? [] : all
    return this.#pending.done
  }

  /**
   * Gives the site fresh isolates. They are warm before the first request comes to them; requests in flight end in the old
   * ones. Returns how many were replaced. The old ones stay when no fresh one starts.
   * @throws RENDER_ISOLATE_LOST, RENDER_GUEST, CORE_TIMEOUT when no fresh isolate starts
   */
  flush(): Promise<number> {
    return this.#turns.run(() => this.#flush())
  }

  /** Ids of the routes that were asked for, as long as there are isolates for them. */
  get usedRoutes(): string[] {
    return this.#pool === undefined || this.#pool.threadCount === 0 ? [] : [...this.#usedRoutes]
  }

  /**
   * Starts an isolate and loads the modules of routes in it, ahead of their first request. Unknown routes are left out.
   * @throws RENDER_ISOLATE_LOST, RENDER_GUEST, CORE_TIMEOUT when no isolate starts
   */
  async warm(routes: readonly string[]): Promise<void> {
    const manifest = await this.manifest()
    for (const route of routes.slice(0, MAX_USED_ROUTES)) this.#usedRoutes.add(route)
    const { timeoutMs } = this.spec.thread
    await warmPool(this.#ensurePool(manifest), { manifest, routes, nextNumber: this.#shared.nextNumber, timeoutMs })
  }

  /** Ends the pool after its last request. */
  async retire(): Promise<void> {
    this.#isRetired = true
    await Promise.all(this.pools.map((pool) => pool.drain()))
  }

  /** Ends the pool at once. */
  async close(): Promise<void> {
    this.#isRetired = true
    await Promise.all(this.pools.map((pool) => pool.close()))
  }

  async #flush(): Promise<number> {
    this.ahead.clear()
    const old = this.#pool
    const manifest = this.#manifest
    if (old === undefined || manifest === undefined || old.threadCount === 0 || this.#isRetired) return 0
    const fresh = this.#newPool(manifest, true)
    this.#others.add(fresh)
    try {
      const { timeoutMs } = this.spec.thread
      await warmPool(fresh, { manifest, routes: this.#usedRoutes, nextNumber: this.#shared.nextNumber, timeoutMs })
    } catch (error) {
      this.#others.delete(fresh)
      await fresh.close()
      if (!this.#isRetired) throw error
    }
    const count = old.threadCount
    // Another runtime serves the site meanwhile, with isolates of its own: these end with the rest of this one.
    if (this.#isRetired) return count
    fresh.takeOver()
    this.#pool = fresh
    this.#others.delete(fresh)
    this.#end(old)
    return count
  }

  /** Ends a pool after its last request. */
  #end(pool: SitePool): void {
    this.#others.add(pool)
    const ended = () => this.#others.delete(pool)
    pool.drain().then(ended, ended)
  }

  #ensurePool(manifest: SiteManifest): SitePool {
    if (this.#isRetired) throw stale(this.id)
    this.#pool ??= this.#newPool(manifest, false)
    return this.#pool
  }

  #newPool(manifest: SiteManifest, isReplacing: boolean): SitePool {
    const { threads, budget, serve } = this.#shared
    const { thread: settings, limits, served } = this.spec
    const events = {
      ...this.#shared.events,
      serve: (port: MessagePort) =>
        serve({ ...served, isAhead: () => this.ahead.isAhead }, port, (modules) => this.#compile(modules)),
    }
    return new SitePool({ threads, settings, manifest, limits, budget, events, isReplacing })
  }

  /** One batch at a time: a site whose files hang a process hangs no more than one. */
  #compile(modules: Parameters<CompileModules>[0]): Promise<CompileReply> {
    const { root, mode, cacheDirs } = this.spec.thread
    return this.#compiles.run(async () => {
      try {
        return await this.#shared.scanner.compile({ root, mode, cacheDirs, modules })
      } catch (thrown) {
        const error = asError(thrown)
        if (codeOf(error) === 'RENDER_COMPILE') this.#shared.events.compileFailed(reasonOf(error), error)
        throw error
      }
    })
  }

  async #describe(): Promise<SiteManifest> {
    for (;;) {
      const scanned = await this.#directory.current()
      if (scanned.refusal !== null) throw new RenderError('RENDER_SITE_REFUSED', scanned.refusal)
      const manifest = await withMatcher(scanned, {
        pool: () => this.#ensurePool(scanned),
        nextNumber: this.#shared.nextNumber,
        timeoutMs: this.spec.thread.timeoutMs,
        log: this.#shared.events.log,
      })
      // A change came meanwhile.
      if (scanned !== this.#directory.known) continue
      this.#manifest = manifest
      return manifest
    }
  }

  async #rescan(files: readonly string[]): Promise<ChangeReach> {
    const before = this.#directory.known
    // Nothing that was made of the site so far could be old.
    if (before === undefined && files.length === 0 && this.#pool === undefined) return anyRoute
    let scan: SiteScan
    try {
      scan = await this.#directory.again(files)
    } catch {
      // Nothing is served until a scan succeeds, since nothing is known of what guards the site. The one who scans logs it, and
      // each request until then gets the error.
      const pool = this.#pool
      this.#manifest = undefined
      this.#pool = undefined
      if (pool !== undefined) this.#end(pool)
      return anyRoute
    }
    const after = scan.manifest
    const { cacheDirs } = this.spec.thread
    const routesTouched = await touchedRoutes({ before, after, files: filesOf(files, scan), realRoot: scan.realRoot, cacheDirs })
    const evicted = (await this.#pool?.update(after, files)) ?? []
    const isDescribed = this.#manifest !== undefined
    this.#manifest = undefined
    if (isDescribed && after.refusal === null) await this.manifest()
    return routesTouched(evicted)
  }
}

function hasErrors({ problems }: SiteSurvey): boolean {
  return problems.some(({ severity }) => severity === 'error')
}

function withErrors(survey: SiteSurvey, errors: readonly string[]): SiteSurvey {
  return { ...survey, problems: [...survey.problems, ...errors.map((text) => ({ severity: 'error' as const, text }))] }
}

function stale(site: string): RenderError {
  return new RenderError('RENDER_STALE_MANIFEST', `the routes of ${site} have changed`)
}

/** The files of a change, and of each whether it is there. */
function filesOf(files: readonly string[], { areThere }: SiteScan): Map<string, boolean> {
  return new Map(files.map((file, at) => [file, areThere[at] === true]))
}
