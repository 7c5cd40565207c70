import { type Deferred, deferred } from '@svc/core'
import { normalizePath, type ResponseHead } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import { fillPattern, type Route, type RouteParams, type SiteManifest } from '@svc/site'
import { WorkerError } from '../errors/errors.ts'
import type { Renderer, RenderSink } from '../render-client/renderer.ts'

/** A small response of a site's code for the server itself. */
interface WholeResponse {
  readonly head: ResponseHead
  readonly body: Buffer
}

/** The routes whose parameters are known in advance. */
export function routesWithStaticParams({ routes }: SiteManifest): Route[] {
  return routes.filter((route) => route.hasStaticParams && route.problem === undefined)
}

function isParams(value: unknown): value is RouteParams {
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).every(
    (item) => typeof item === 'string' || (Array.isArray(item) && item.every((part) => typeof part === 'string')),
  )
}

/**
 * Queries a route for its known paths, normalised. Sets of parameters that make no path are left out.
 * @throws WORKER_STATIC_PARAMS when the site's code fails or returns something else, and the errors of a render
 */
export async function staticPathsOf(
  renderer: Renderer,
  route: Route,
  request: Omit<RenderRequest, 'kind' | 'route'>,
): Promise<string[]> {
  const { head, body } = await renderWhole(renderer, { ...request, kind: 'static-paths', route: route.id })
  if (head.status !== 200) throw new WorkerError('WORKER_STATIC_PARAMS', `generateStaticParams of ${route.pattern} failed`)
  const sets: unknown = JSON.parse(body.toString())
  if (!Array.isArray(sets))
    throw new WorkerError('WORKER_STATIC_PARAMS', `generateStaticParams of ${route.pattern} did not return a list of parameters`)
  const paths = sets.filter(isParams).map((params) => normalizePath(fillPattern(route.pattern, params)))
  return paths.filter((path) => path !== undefined)
}

/** Takes a whole response, which must not be streamed. */
class WholeSink implements RenderSink {
  readonly response: Deferred<WholeResponse> = deferred()

  attach(): void {
    // Nobody aborts it.
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
