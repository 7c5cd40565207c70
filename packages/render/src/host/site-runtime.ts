import type { MessagePort } from 'node:worker_threads'
import type { SiteConfig } from '@svc/config'
import { messageOf, SingleFlight } from '@svc/core'
import { problemText, type SiteManifest, scanSite, withMiddlewareMatcher } from '@svc/site'
import { RenderError } from '../errors.ts'
import type { ThreadSettings } from '../thread/thread-messages.ts'
import type { ServedSite } from './data/site-services.ts'
import { foreignReact } from './foreign-react.ts'
import { InspectJob } from './inspect-job.ts'
import { type PoolEvents, type PoolLimits, type PoolOptions, SitePool } from './site-pool.ts'
import type { ThreadBudget } from './thread-budget.ts'
import { touchedRoutes } from './touched-routes.ts'
import { TurnQueue } from './turn-queue.ts'
import { warmPool } from './warm-pool.ts'

/** More routes than these are not loaded ahead of their first request after a flush. */
const MAX_USED_ROUTES = 1_000

/** Everything that decides how a site is run. Two of them that are equal as JSON need no new isolates. */
export interface SiteSpec {
  readonly config: Pick<SiteConfig, 'id' | 'root' | 'public'>
  readonly thread: Omit<ThreadSettings, 'manifest'>
  readonly limits: PoolLimits
  /** What the threads of the site are served as by their host. */
  readonly served: ServedSite
}

/** What a site runtime shares with the others of its host. */
export interface SiteDependencies {
  readonly threads: PoolOptions['threads']
  readonly budget: ThreadBudget
  readonly events: Omit<PoolEvents, 'serve'>
  /** Answers a thread of the site over a port. */
  readonly serve: (site: ServedSite, port: MessagePort) => void
  readonly nextNumber: () => number
}

/** One site in a render host: its manifest and its pool. Nothing is read or started before it is asked for. */
export class SiteRuntime {
  readonly spec: SiteSpec
  readonly #shared: SiteDependencies
  readonly #scans = new SingleFlight<string, SiteManifest>()
  #manifest: SiteManifest | undefined
  #pool: SitePool | undefined
  #isRetired = false
  /** Pools that begin or end beside the one that serves. */
  readonly #others = new Set<SitePool>()
  /** Ids of routes that were asked for. */
  readonly #usedRoutes = new Set<string>()
  readonly #turns = new TurnQueue()
  /** Problems of the directory that are in the log and still there. */
  #reported: ReadonlySet<string> = new Set()

  constructor(spec: SiteSpec, shared: SiteDependencies) {
    this.spec = spec
    this.#shared = shared
  }

  get id(): string {
    return this.spec.config.id
  }

  /** The pool, when a request has come since the start. */
  get pool(): SitePool | undefined {
    return this.#pool
  }

  /** All its pools: the one that serves, and those that end after a flush. */
  get pools(): SitePool[] {
    return this.#pool === undefined ? [...this.#others] : [this.#pool, ...this.#others]
  }

  /** The manifest with the matcher of its middleware. */
  async manifest(): Promise<SiteManifest> {
    return this.#manifest ?? (await this.#scans.run('scan', () => this.#scan()))
  }

  /**
   * The pool for a request of a route that was matched with a version of the manifest.
   * @throws RENDER_STALE_MANIFEST
   */
  poolFor(manifestVersion: string, routeId: string): SitePool | Promise<SitePool> {
    if (this.#usedRoutes.size < MAX_USED_ROUTES) this.#usedRoutes.add(routeId)
    const manifest = this.#manifest
    if (manifest === undefined || this.#pool === undefined) return this.#openPool(manifestVersion)
    if (manifest.version !== manifestVersion) throw stale(this.id)
    return this.#pool
  }

  /**
   * Takes in that files have changed; an empty list: look at everything. Resolves when every isolate has, with the patterns of
   * the routes whose code was touched; null: any may be.
   */
  changed(files: readonly string[]): Promise<string[] | null> {
    return this.#turns.run(() => this.#rescan(files))
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
    if (!this.#isRetired) this.#swap(old, fresh)
    return count
  }

  #swap(old: SitePool, fresh: SitePool): void {
    fresh.takeOver()
    this.#pool = fresh
    this.#others.delete(fresh)
    this.#others.add(old)
    const ended = () => this.#others.delete(old)
    old.drain().then(ended, ended)
  }

  async #openPool(manifestVersion: string): Promise<SitePool> {
    const manifest = await this.manifest()
    if (manifest.version !== manifestVersion) throw stale(this.id)
    return this.#ensurePool(manifest)
  }

  #ensurePool(manifest: SiteManifest): SitePool {
    if (this.#isRetired) throw stale(this.id)
    this.#pool ??= this.#newPool(manifest, false)
    return this.#pool
  }

  #newPool(manifest: SiteManifest, isReplacing: boolean): SitePool {
    const { threads, budget, serve } = this.#shared
    const { thread: settings, limits, served } = this.spec
    const events = { ...this.#shared.events, serve: (port: MessagePort) => serve(served, port) }
    return new SitePool({ threads, settings, manifest, limits, budget, events, isReplacing })
  }

  async #scan(): Promise<SiteManifest> {
    const { root, public: publicDir } = this.spec.config
    const scanned = await scanSite({ root, publicDir })
    await this.#report(scanned)
    const manifest = await this.#withMatcher(scanned)
    this.#manifest = manifest
    return manifest
  }

  async #rescan(files: readonly string[]): Promise<string[] | null> {
    const { root, public: publicDir } = this.spec.config
    const before = this.#manifest
    if (before === undefined && files.length === 0) return null
    const after = await scanSite({ root, publicDir })
    const routesTouched = await touchedRoutes({ before, after, files, cacheDirs: this.spec.thread.cacheDirs })
    // Nobody has asked for the site here so far: nothing is kept that could be old.
    if (before === undefined) return routesTouched([])
    await this.#report(after)
    const evicted = (await this.#pool?.update(after, files)) ?? []
    this.#manifest = await this.#withMatcher(after)
    return routesTouched(evicted)
  }

  /** Logs what is wrong with the site's directory: each problem once, and again when it comes back. */
  async #report({ problems }: SiteManifest): Promise<void> {
    const found = new Map<string, string>(problems.map((problem) => [problemText(problem), problem.severity]))
    const react = await foreignReact(this.spec.config.root)
    if (react !== undefined) found.set(react, 'warning')
    for (const [text, severity] of found) {
      if (!this.#reported.has(text)) this.#shared.events.log(severity === 'error' ? 'error' : 'warn', '', text)
    }
    this.#reported = new Set(found.keys())
  }

  /** The matcher is an export of the middleware's module: only running it tells. */
  async #withMatcher(manifest: SiteManifest): Promise<SiteManifest> {
    const file = manifest.middleware?.file
    if (file === undefined) return manifest
    const pool = this.#ensurePool(manifest)
    const job = new InspectJob(this.#shared.nextNumber(), [file], this.spec.thread.timeoutMs)
    try {
      pool.run(job)
      const { config } = (await job.exports)[file] ?? {}
      const matcher = typeof config === 'object' && config !== null && 'matcher' in config ? config.matcher : null
      return withMiddlewareMatcher(manifest, matcher)
    } catch (error) {
      // It then runs for every path, and each answer says what is wrong with it.
      this.#shared.events.log('error', '', `middleware cannot be loaded: ${messageOf(error)}`)
      return manifest
    }
  }
}

function stale(site: string): RenderError {
  return new RenderError('RENDER_STALE_MANIFEST', `the routes of ${site} have changed`)
}
