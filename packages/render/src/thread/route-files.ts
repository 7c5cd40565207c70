import type { BeginKind } from '@svc/guest'
import type { Route, SegmentNode, SiteManifest } from '@svc/site'
import { RenderError } from '../errors/errors.ts'

/** Adds the files that a tree names. `metadata`: of images and texts the modules, all, or none. */
export function addTree(node: SegmentNode | null, files: Set<string>, metadata: 'modules' | 'all' | 'none' = 'modules'): void {
  if (node === null) return
  const own = [node.layout, node.template, node.loading, node.error, node.notFound, node.page, node.default]
  for (const file of own) if (file !== undefined) files.add(file)
  if (metadata === 'modules') for (const { contentType, file } of node.metadata) if (contentType === null) files.add(file)
  if (metadata === 'all') for (const { file, altFile } of node.metadata) files.add(file).add(altFile ?? file)
  for (const child of Object.values(node.slots)) addTree(child, files, metadata)
}

/** The modules of images and other metadata files beside a page's segments, which make nothing but tags of its head. */
export function imageFilesOf({ tree, file }: Route): ReadonlySet<string> {
  const [all, others] = [new Set<string>(), new Set<string>()]
  addTree(tree, all)
  addTree(tree, others, 'none')
  // The route of an image needs it.
  others.add(file)
  return new Set([...all].filter((one) => !others.has(one)))
}

/** Lists the module files that a render of a route may need: its tree and the fallbacks. */
export function filesOfRoute(route: Route, manifest: SiteManifest): string[] {
  const files = new Set<string>()
  addTree(route.tree, files)
  if (route.file !== '' && (route.kind !== 'metadata' || route.metadata?.contentType === null)) files.add(route.file)
  if (route.kind === 'page') {
    addTree(manifest.notFound, files)
    if (manifest.globalError !== null) files.add(manifest.globalError)
  }
  return [...files]
}

/** A route as the guest gets it: with the page for a failure of the root layout. */
type DefinedRoute = Route & { readonly globalError: string | null }

const unrouted = { pattern: '', segments: [], metadata: null, slotParams: [], hasStaticParams: false } as const

/** Id of the route of a request: those that no pattern leads to have one of their own. */
export function routeIdOf(kind: BeginKind, route: string): string {
  if (kind === 'middleware') return 'svc:middleware'
  return kind === 'not-found' && route === '' ? 'svc:not-found' : route
}

/**
 * The route of an id: of the manifest, the middleware, or the page for paths that no route matches.
 * @throws RENDER_UNKNOWN_ROUTE
 */
export function routeById(manifest: SiteManifest, id: string): DefinedRoute {
  const { globalError, middleware, notFound } = manifest
  if (id === 'svc:not-found') return { ...unrouted, id, kind: 'page', file: '', tree: notFound, globalError }
  if (id === 'svc:middleware' && middleware !== null) {
    return { ...unrouted, id, kind: 'handler', file: middleware.file, tree: null, globalError: null }
  }
  const route = manifest.routes.find((one) => one.id === id)
  if (route === undefined) throw new RenderError('RENDER_UNKNOWN_ROUTE', { id })
  return { ...route, globalError }
}
