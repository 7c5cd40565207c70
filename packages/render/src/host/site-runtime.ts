import type { SiteConfig } from '@svc/config'
import { messageOf, SingleFlight } from '@svc/core'
import { problemText, type SiteManifest, scanSite, withMiddlewareMatcher } from '@svc/site'
import { RenderError } from '../errors.ts'
import type { ThreadSettings } from '../thread/thread-messages.ts'
import { InspectJob } from './inspect-job.ts'
import { type PoolEvents, type PoolLimits, type PoolOptions, SitePool } from './site-pool.ts'
import type { ThreadBudget } from './thread-budget.ts'

/** Everything that decides how a site is run. Two of them that are equal as JSON need no new isolates. */
export interface SiteSpec {
  readonly config: Pick<SiteConfig, 'id' | 'root' | 'public'>
  readonly thread: Omit<ThreadSettings, 'manifest'>
  readonly limits: PoolLimits
}

/** What a site runtime shares with the others of its host. */
export interface SiteDependencies {
  readonly threads: PoolOptions['threads']
  readonly budget: ThreadBudget
  readonly events: PoolEvents
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
  #changes: Promise<void> = Promise.resolve()
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

  /** The manifest with the matcher of its middleware. */
  async manifest(): Promise<SiteManifest> {
    return this.#manifest ?? (await this.#scans.run('scan', () => this.#scan()))
  }

  /**
   * The pool for a request that was matched with a version of the manifest.
   * @throws RENDER_STALE_MANIFEST
   */
  poolFor(manifestVersion: string): SitePool | Promise<SitePool> {
    const manifest = this.#manifest
    if (manifest === undefined || this.#pool === undefined) return this.#openPool(manifestVersion)
    if (manifest.version !== manifestVersion) throw stale(this.id)
    return this.#pool
  }

  /** Takes in that files have changed; an empty list: look at everything. Resolves when every isolate has. */
  changed(files: readonly string[]): Promise<void> {
    this.#changes = this.#changes.then(() => this.#rescan(files))
    return this.#changes
  }

  /** Ends the pool after its last request. */
  async retire(): Promise<void> {
    this.#isRetired = true
    await this.#pool?.drain()
  }

  /** Ends the pool at once. */
  async close(): Promise<void> {
    this.#isRetired = true
    await this.#pool?.close()
  }

  async #openPool(manifestVersion: string): Promise<SitePool> {
    const manifest = await this.manifest()
    if (manifest.version !== manifestVersion) throw stale(this.id)
    return this.#ensurePool(manifest)
  }

  #ensurePool(manifest: SiteManifest): SitePool {
    if (this.#isRetired) throw stale(this.id)
    const { threads, budget, events } = this.#shared
    const { thread: settings, limits } = this.spec
    this.#pool ??= new SitePool({ threads, settings, manifest, limits, budget, events })
    return this.#pool
  }

  async #scan(): Promise<SiteManifest> {
    const { root, public: publicDir } = this.spec.config
    const scanned = await scanSite({ root, publicDir })
    this.#report(scanned)
    const manifest = await this.#withMatcher(scanned)
    this.#manifest = manifest
    return manifest
  }

  async #rescan(files: readonly string[]): Promise<void> {
    if (this.#manifest === undefined) return
    const { root, public: publicDir } = this.spec.config
    const scanned = await scanSite({ root, publicDir })
    this.#report(scanned)
    await this.#pool?.update(scanned, files)
    this.#manifest = await this.#withMatcher(scanned)
  }

  /** Logs what is wrong with the site's directory: each problem once, and again when it comes back. */
  #report({ problems }: SiteManifest): void {
    const found = new Map(problems.map((problem) => [problemText(problem), problem.severity]))
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
