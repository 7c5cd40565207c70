import type { Route, RouteParams, SiteManifest } from '../manifest/manifest.ts'
import { isStaticPattern } from '../manifest/pattern.ts'

/** The result for a path: a route, or a redirect (308) to its form without the slash at the end; the query is the caller's. */
type RouteMatch =
  | { readonly route: Route; readonly params: RouteParams; readonly redirect?: undefined }
  | { readonly redirect: string }

/** One position of the URL. */
interface TrieNode {
  readonly statics: Map<string, TrieNode>
  dynamic: TrieNode | undefined
  route: Route | undefined
  catchAll: Route | undefined
  optionalCatchAll: Route | undefined
}

const noParams: RouteParams = Object.freeze({})

function newNode(): TrieNode {
  return { statics: new Map(), dynamic: undefined, route: undefined, catchAll: undefined, optionalCatchAll: undefined }
}

function insert(root: TrieNode, route: Route): void {
  let node = root
  for (const segment of route.segments) {
    switch (segment.kind) {
      case 'catch-all':
        node.catchAll ??= route
        return
      case 'optional-catch-all':
        node.optionalCatchAll ??= route
        return
      case 'dynamic':
        node.dynamic ??= newNode()
        node = node.dynamic
        break
      case 'static': {
        const next = node.statics.get(segment.value) ?? newNode()
        node.statics.set(segment.value, next)
        node = next
      }
    }
  }
  node.route ??= route
}

/**
 * Finds the most specific route, segment by segment: static, dynamic, catch-all, optional catch-all; what leads nowhere is
 * left again. The depth fixes the index, so that no node is looked at twice.
 */
function find(node: TrieNode, path: readonly string[], index: number): Route | undefined {
  const segment = path[index]
  if (segment === undefined) return node.route ?? node.optionalCatchAll
  const next = node.statics.get(segment)
  const below = next === undefined ? undefined : find(next, path, index + 1)
  if (below !== undefined) return below
  const dynamic = node.dynamic === undefined ? undefined : find(node.dynamic, path, index + 1)
  return dynamic ?? node.catchAll ?? node.optionalCatchAll
}

function paramsOf(route: Route, path: readonly string[]): RouteParams {
  const params: Record<string, string | readonly string[]> = {}
  for (let i = 0; i < route.segments.length; i++) {
    const segment = route.segments[i]
    if (segment === undefined || segment.kind === 'static') continue
    if (segment.kind === 'dynamic') params[segment.name] = path[i] as string
    else if (i < path.length) params[segment.name] = path.slice(i)
  }
  for (const { name, index } of route.slotParams) {
    if (index < path.length) params[name] = path.slice(index)
  }
  return params
}

/** The routes of one manifest, ready to be matched. Immutable. */
export class RouteTable {
  readonly #root = newNode()
  /** Routes without parameters, by path as it is decoded and joined: the quick way for most requests. */
  readonly #statics = new Map<string, RouteMatch>()

  constructor(manifest: SiteManifest) {
    for (const route of manifest.routes) {
      insert(this.#root, route)
      const isPlain = isStaticPattern(route.segments) && route.slotParams.length === 0
      if (!isPlain || this.#statics.has(route.pattern)) continue
      this.#statics.set(route.pattern, Object.freeze({ route, params: noParams }))
    }
  }

  /** Finds the route of a normalised path (`HttpRequest.path`), or undefined. */
  match(path: string): RouteMatch | undefined {
    // A pattern may contain "%" as it is; such a path must be decoded first.
    const quick = path.includes('%') ? undefined : this.#statics.get(path)
    if (quick !== undefined) return quick
    if (path.length > 1 && path.endsWith('/')) {
      const redirect = path.slice(0, -1)
      return this.#find(redirect) === undefined ? undefined : { redirect }
    }
    return this.#find(path)
  }

  /** Returns true if a route without parameters answers exactly this path. */
  isStaticRoute(path: string): boolean {
    const found = this.#find(path)
    return found !== undefined && isStaticPattern(found.route.segments)
  }

  #find(path: string): { route: Route; params: RouteParams } | undefined {
    const segments = pathSegments(path)
    const route = segments === undefined ? undefined : find(this.#root, segments, 0)
    return segments === undefined || route === undefined ? undefined : { route, params: paramsOf(route, segments) }
  }
}

/** Compiles the routes of a manifest into a trie. */
export function compileRoutes(manifest: SiteManifest): RouteTable {
  return new RouteTable(manifest)
}

/**
 * Cuts the path of a URL into its segments, percent-decoded one by one: "%2F" stays within its segment.
 * undefined for a path that does not begin with "/", has an empty segment or an escape that is not UTF-8.
 */
function pathSegments(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  if (path === '/') return []
  const segments = path.slice(1).split('/')
  const isPlain = !path.includes('%')
  for (let i = 0; i < segments.length; i++) {
    const text = segments[i] as string
    if (text === '') return undefined
    if (isPlain) continue
    const decoded = decodeSegment(text)
    if (decoded === undefined) return undefined
    segments[i] = decoded
  }
  return segments
}

function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // URIError, the only one it throws: not UTF-8.
    return undefined
  }
}
