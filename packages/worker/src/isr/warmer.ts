import { asError, codeOf } from '@svc/core'
import type { ResponseHead } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import { type Route, staticPaths } from '@svc/site'
import { WorkerError } from '../errors/errors.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { SiteApp, SiteRuntime } from '../generation/site-runtime.ts'
import { isStaleManifest, type Renderer, type RenderSink } from '../render-client/renderer.ts'
import type { IsrCache } from './isr-cache.ts'
import { backgroundOf, requestOf } from './page-target.ts'

/** Dependencies of warming. */
interface WarmerOptions {
  readonly generation: () => ServingGeneration | undefined
  readonly cache: () => IsrCache | undefined
  readonly renderer: Renderer
  readonly onProblem: (error: Error) => void
}

/** Paths of one site at most: more would only push each other out of the store. */
const MAX_SHARE = 0.5

/** Renders the pages of sites that are known in advance into the store: one site after the other, one page at a time. */
export class Warmer {
  readonly #options: WarmerOptions
  readonly #due = new Set<string>()
  #isRunning = false
  #isStopped = false

  constructor(options: WarmerOptions) {
    this.#options = options
  }

  /** Puts a site at the end of the line. Returns at once. */
  add(site: string): void {
    this.#due.add(site)
    if (this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    this.#run().catch((error) => {
      this.#isRunning = false
      this.#options.onProblem(asError(error))
    })
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isStopped = true
  }

  async #run(): Promise<void> {
    for (const id of this.#due) {
      if (this.#isStopped) break
      this.#due.delete(id)
      const site = this.#options.generation()?.sites.get(id)
      if (site === undefined) continue
      await this.#warm(site).catch((error) => this.#options.onProblem(asError(error)))
    }
    this.#isRunning = false
  }

  async #warm(site: SiteRuntime): Promise<void> {
    const app = await site.app()
    try {
      let left = Math.floor((this.#options.generation()?.config.cache.isr.max_entries ?? 0) * MAX_SHARE)
      for (const route of app.manifest.routes) {
        if (!route.hasStaticParams || route.problem !== undefined) continue
        const paths = await staticPathsOf(this.#options.renderer, route, requestOf(site, app, { path: '/', query: '' }))
        for (const path of paths.slice(0, left)) if (!this.#isStopped && !site.isRetired) await this.#warmPath(site, app, path)
        left -= Math.min(left, paths.length)
      }
    } catch (error) {
      // Its files have changed meanwhile: the change brings it back here.
      if (!isStaleManifest(asError(error))) throw error
    }
  }

  async #warmPath(site: SiteRuntime, app: SiteApp, path: string): Promise<void> {
    const { cache, generation } = this.#options
    const current = generation()
    const background = current && backgroundOf(site, app, { path, query: '' }, current.config)
    if (background === undefined) return
    try {
      await cache()?.warm(background)
    } catch (error) {
      if (codeOf(error) === 'CORE_PEER_GONE' || isStaleManifest(asError(error))) throw error
      this.#options.onProblem(asError(error))
    }
  }
}

/**
 * Queries a route for its known paths, normalised. Sets of parameters that make no path are left out.
 * @throws WORKER_STATIC_PARAMS when the site's code fails or returns something else, and the errors of a render
 */
async function staticPathsOf(
  renderer: Renderer,
  route: Route,
  request: Omit<RenderRequest, 'kind' | 'route'>,
): Promise<string[]> {
  const { head, body } = await renderWhole(renderer, { ...request, kind: 'static-paths', route: route.id })
  if (head.status !== 200) throw new WorkerError('WORKER_STATIC_PARAMS', `generateStaticParams of ${route.pattern} failed`)
  const paths = staticPaths(route.pattern, JSON.parse(body.toString()))
  if (paths === undefined)
    throw new WorkerError('WORKER_STATIC_PARAMS', `generateStaticParams of ${route.pattern} did not return a list of parameters`)
  return paths
}

/** A small response of a site's code for the server itself. */
interface WholeResponse {
  readonly head: ResponseHead
  readonly body: Buffer
}

/** Takes a whole response, which must not be streamed. */
class WholeSink implements RenderSink {
  readonly response = Promise.withResolvers<WholeResponse>()

  attach(): void {
    // It is never aborted.
  }

  queued(): void {
    // No client waits.
  }

  informational(): void {
    // Renders send none.
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.response.resolve({ head, body: Buffer.from(body) })
  }

  head(): void {
    this.response.reject(new TypeError('the render host streamed a response that was requested whole'))
  }

  chunk(): boolean {
    return true
  }

  end(): void {
    // The head has told already.
  }

  fail(error: Error): void {
    this.response.reject(error)
  }
}

/** Renders and resolves with the whole response. Rejects with the error of the render. */
function renderWhole(renderer: Renderer, request: RenderRequest): Promise<WholeResponse> {
  const sink = new WholeSink()
  renderer.render(request, undefined, sink)
  return sink.response.promise
}
