import { readFile } from 'node:fs/promises'
import { normalizePath } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import { fillPattern, isStaticPattern, type Route, type RouteParams, type SegmentNode, type SiteManifest } from '@svc/site'
import { WorkerError } from '../errors.ts'
import type { Renderer } from '../render-client/renderer.ts'
import { renderWhole } from './whole-render.ts'

const EXPORT = /\bgenerateStaticParams\b/

/** Modules of a route that may name its parameters. */
function filesOf({ file, tree }: Route): string[] {
  if (tree === null) return [file]
  const files: string[] = []
  for (let node: SegmentNode | null | undefined = tree; node; node = node.slots['children']) {
    for (const own of [node.layout, node.page]) if (own !== undefined) files.push(own)
  }
  return files
}

async function names(file: string): Promise<boolean> {
  try {
    return EXPORT.test(await readFile(file, 'utf8'))
  } catch {
    // Gone since the scan: the next one knows.
    return false
  }
}

/** The routes whose parameters are known in advance, as far as a look at the text of their files tells. */
export async function routesWithStaticParams({ routes }: SiteManifest): Promise<Route[]> {
  const seen = new Map<string, boolean>()
  const found: Route[] = []
  for (const route of routes) {
    if (route.kind === 'metadata' || route.problem !== undefined || isStaticPattern(route.segments)) continue
    for (const file of filesOf(route)) {
      const isNamed = seen.get(file) ?? (await names(file))
      seen.set(file, isNamed)
      if (!isNamed) continue
      found.push(route)
      break
    }
  }
  return found
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
