import type { SiteConfig } from '@svc/config'
import { SingleFlight, setNewest } from '@svc/core'
import type { HeaderList } from '@svc/http'
import { compileMiddlewareMatcher, compileRoutes, type MiddlewareMatcher, type RouteTable, type SiteManifest } from '@svc/site'
import { WorkerError } from '../errors/errors.ts'
import type { Renderer } from '../render-client/renderer.ts'
import { StaticFiles } from '../static/index.ts'

/** A site whose files change with each description is served by the last one, which is not kept. */
const MAX_DESCRIPTIONS = 3

/** The application of a site as the worker needs it: its routes and where its middleware runs. */
export interface SiteApp {
  readonly manifest: SiteManifest
  readonly routes: RouteTable
  /** undefined: no middleware. */
  readonly middleware: MiddlewareMatcher | undefined
  /** Runs of the middleware that need not be repeated. */
  readonly middlewareMemory: MiddlewareMemory
  /** Files of the public directory. A site that is nothing but files has its `index.html` answer for directories. */
  readonly files: StaticFiles
}

/**
 * State of one site in a worker while its configuration stays the same, over any number of reloads. Everything is created at
 * the first request: a site without requests costs no more than its configuration.
 */
export class SiteRuntime {
  readonly config: SiteConfig
  readonly #renderer: Renderer
  readonly #onProblem: (error: Error) => void
  readonly #describing = new SingleFlight<'app', SiteApp>()
  /** The application, if its manifest is at hand. */
  knownApp: SiteApp | undefined
  /** Raised by every change, so that a response in flight during a change is not cached. */
  #changes = 0
  /**
   * True if another configuration is in service. Its label may be another site's by now: responses of requests that started before
   * are neither cached nor served from the cache. Written here alone.
   */
  isRetired = false
  /** Requests that wait for the application. */
  readonly #waiting = new Set<PromiseWithResolvers<SiteApp | undefined>>()
  #isAsked = false

  constructor(config: SiteConfig, renderer: Renderer, onProblem: (error: Error) => void) {
    this.config = config
    this.#renderer = renderer
    this.#onProblem = onProblem
  }

  /**
   * The application, asking the render host for its manifest when it is not at hand.
   * @throws the errors of `Renderer.describe`
   */
  app(): Promise<SiteApp> {
    return this.knownApp === undefined ? this.#describing.run('app', () => this.#describe()) : Promise.resolve(this.knownApp)
  }

  /**
   * The application for a request, which waits no longer than its client: when that leaves, this resolves with undefined and keeps
   * nothing of it. While no render host is connected, no more than `maxWaiting` wait.
   * @throws WORKER_QUEUE_FULL, and the errors of `Renderer.describe`
   */
  async appFor(onLeft: (listener: () => void) => void, maxWaiting: number): Promise<SiteApp | undefined> {
    if (this.knownApp !== undefined) return this.knownApp
    const { id } = this.config
    if (this.#waiting.size >= maxWaiting && !this.#renderer.isReachable(id)) {
      throw new WorkerError('WORKER_QUEUE_FULL', `too many requests are already waiting for the routes of ${id}`)
    }
    const waiter = Promise.withResolvers<SiteApp | undefined>()
    this.#waiting.add(waiter)
    onLeft(() => {
      this.#waiting.delete(waiter)
      waiter.resolve(undefined)
    })
    this.#tellWaiting()
    return await waiter.promise
  }

  /** The site's files have changed: the next request queries the manifest again. */
  forget(): void {
    this.#changes++
    this.knownApp = undefined
  }

  /** Another configuration takes over. */
  retire(): void {
    this.isRetired = true
  }

  #tellWaiting(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    const tell = (settle: (waiter: PromiseWithResolvers<SiteApp | undefined>) => void) => {
      this.#isAsked = false
      const waiting = [...this.#waiting]
      this.#waiting.clear()
      for (const waiter of waiting) settle(waiter)
    }
    this.app().then(
      (app) => tell(({ resolve }) => resolve(app)),
      (error) => tell(({ reject }) => reject(error)),
    )
  }

  async #describe(): Promise<SiteApp> {
    for (let tries = 1; ; tries++) {
      const changes = this.#changes
      const app = this.#compile(await this.#renderer.describe(this.config.id))
      if (changes === this.#changes) this.knownApp = app
      // A host refuses renders of a manifest that is old by then.
      if (changes === this.#changes || tries === MAX_DESCRIPTIONS) return app
    }
  }

  #compile(manifest: SiteManifest): SiteApp {
    const middleware = manifest.middleware === null ? undefined : compileMiddlewareMatcher(manifest.middleware)
    const files = new StaticFiles({
      root: this.config.public,
      hasIndex: manifest.appDir === null,
      onProblem: this.#onProblem,
    })
    return { manifest, routes: compileRoutes(manifest), middleware, middlewareMemory: new MiddlewareMemory(), files }
  }
}

/** Paths that are remembered of one site. Past them the oldest is forgotten: it costs a run of the middleware. */
const MAX_PATHS = 4_096
/** Outside inputs of middleware (a flag behind a `fetch`, the time) may change without a change of its code. */
const MAX_AGE_MS = 60_000

interface Run {
  readonly responseHeaders: HeaderList
  readonly untilMs: number
}

/**
 * Runs of a middleware that went on without looking at anything of the request but path and method: the next request for the
 * same needs none. Belongs to one state of the site's code.
 */
class MiddlewareMemory {
  readonly #runs = new Map<string, Run>()

  /** Fields that the middleware sets on the response; undefined: it must run. `nowMs` of the monotonic clock. */
  get(method: string, path: string, nowMs: number): HeaderList | undefined {
    const key = `${method} ${path}`
    const run = this.#runs.get(key)
    if (run === undefined || nowMs < run.untilMs) return run?.responseHeaders
    this.#runs.delete(key)
    return undefined
  }

  add(method: string, path: string, responseHeaders: HeaderList, nowMs: number): void {
    setNewest(this.#runs, `${method} ${path}`, { responseHeaders, untilMs: nowMs + MAX_AGE_MS }, MAX_PATHS)
  }
}
