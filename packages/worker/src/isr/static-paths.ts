import { normalizePath } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import { fillPattern, type Route, type RouteParams, type SiteManifest } from '@svc/site'
import { WorkerError } from '../errors.ts'
import type { Renderer } from '../render-client/renderer.ts'
import { renderWhole } from './whole-render.ts'

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
 * Asks a route for its known paths, normalised. Sets of parameters that make no path are left out.
 * @throws WORKER_STATIC_PARAMS when the site's code fails or answers something else, and what a render fails with
 */
export async function staticPathsOf(
  renderer: Renderer,
  route: Route,
  request: Omit<RenderRequest, 'kind' | 'route'>,
): Promise<string[]> {
  const { head, body } = await renderWhole(renderer, { ...request, kind: 'static-paths', route: route.id })
  if (head.status !== 200) throw new WorkerError('WORKER_STATIC_PARAMS', `generateStaticParams of ${route.pattern} failed`)
  const sets: unknown = JSON.parse(body.toString())
  if (!Array.isArray(sets)) throw new WorkerError('WORKER_STATIC_PARAMS', `${route.pattern} did not name a list of parameters`)
  const paths = sets.filter(isParams).map((params) => normalizePath(fillPattern(route.pattern, params)))
  return paths.filter((path) => path !== undefined)
}
