import { basename, sep } from 'node:path'
import { ImportGraph, ModuleCache, type ModuleCacheDirs } from '@svc/compile/caches'
import type { Route, SiteManifest } from '@svc/site'
import { addTree, filesOfRoute } from '../thread/route-files.ts'

/** Files that decide where imports lead. */
const resolverFiles = new Set(['package.json', 'tsconfig.json', 'jsconfig.json'])
/** Files that an import can name. */
const moduleFile = /\.(?:[cm]?[jt]s|[jt]sx|json|css)$/

/** Facts about a change before the isolates apply it. */
interface Change {
  /** Undefined: this process did not know the site's routes before. */
  readonly before: SiteManifest | undefined
  readonly after: SiteManifest
  /** Absolute path -> true if the file exists; empty: anything may have changed. */
  readonly files: ReadonlyMap<string, boolean>
  /** The site's directory with all links resolved. */
  readonly realRoot: string
  readonly cacheDirs: ModuleCacheDirs
}

/** The reach of a change. */
export interface ChangeReach {
  /** The patterns of the routes that it touches; null: any may be. */
  readonly routes: string[] | null
  /** Routes were added or removed: an entry that is stored for a path may be another route's. */
  readonly movesPaths: boolean
}

/** Tells the reach of a change. `evicted`: modules that isolates had and have no more. */
type TouchedRoutes = (evicted: readonly string[]) => ChangeReach

/** The reach of a change is unknown. */
export const anyRoute: ChangeReach = { routes: null, movesPaths: false }

function filesNamed(route: Route, manifest: SiteManifest): Set<string> {
  const found = new Set(filesOfRoute(route, manifest))
  addTree(route.tree, found, 'all')
  if (route.file !== '') found.add(route.file)
  if (route.metadata?.altFile !== undefined) found.add(route.metadata.altFile)
  return found
}

/** Files that affect every route: middleware, the not-found page and the global error page. */
function filesOfAll({ notFound, middleware, globalError }: SiteManifest): Set<string> {
  const found = new Set<string>()
  addTree(notFound, found, 'none')
  if (middleware !== null) found.add(middleware.file)
  if (globalError !== null) found.add(globalError)
  return found
}

/** Modules are known by real paths, changes by those that are watched. */
function withRealPaths(files: Iterable<string>, root: string, real: string): string[] {
  return [...files].flatMap((file) =>
    real !== root && file.startsWith(root + sep) ? [file, real + file.slice(root.length)] : [file],
  )
}

/** Routes that have changed, by pattern. */
function movedRoutes(before: SiteManifest, after: SiteManifest): Set<string> {
  const textsOf = ({ routes }: SiteManifest) => new Map(routes.map((route) => [route.id, JSON.stringify(route)]))
  const [old, fresh] = [textsOf(before), textsOf(after)]
  const moved = [...before.routes, ...after.routes].filter(({ id }) => old.get(id) !== fresh.get(id))
  return new Set(moved.map(({ pattern }) => pattern))
}

/** The patterns that only one of two manifests has. Their routes answer paths that another route, or none, answered before. */
function changedPatterns(before: SiteManifest, after: SiteManifest): Set<string> {
  const patternsOf = ({ routes }: SiteManifest) => new Set(routes.map(({ pattern }) => pattern))
  const [old, fresh] = [patternsOf(before), patternsOf(after)]
  return new Set([...old, ...fresh].filter((pattern) => old.has(pattern) !== fresh.has(pattern)))
}

function isSameForAll(before: SiteManifest, after: SiteManifest): boolean {
  const textOf = ({ notFound, middleware, globalError, appDir }: SiteManifest) =>
    JSON.stringify([notFound, middleware?.file, globalError, appDir])
  return textOf(before) === textOf(after)
}

/** One change, looked at with the index as it was before. */
class LookedAt {
  readonly #change: Change
  readonly #named: ReadonlySet<string>
  readonly #known: ReadonlySet<string>
  readonly #touched: ReadonlySet<string>

  constructor(change: Change, known: ReadonlySet<string>, touched: ReadonlySet<string>) {
    this.#change = change
    this.#known = known
    this.#touched = touched
    const named = this.#manifests().flatMap((manifest) => manifest.routes.flatMap((route) => [...filesNamed(route, manifest)]))
    this.#named = new Set([...named, ...this.#manifests().flatMap((manifest) => [...filesOfAll(manifest)])])
  }

  reach(evicted: readonly string[]): ChangeReach {
    const { before, after } = this.#change
    const changed = before === undefined ? new Set<string>() : changedPatterns(before, after)
    return { routes: this.#routes(evicted, changed), movesPaths: changed.size > 0 }
  }

  #routes(evicted: readonly string[], changed: ReadonlySet<string>): string[] | null {
    const touched = new Set([...this.#touched, ...evicted])
    if (this.#isUnclear() || this.#touchesAll(touched)) return null
    const { before, after } = this.#change
    // A route without parameters has one path, which every response to it is tagged with.
    if ([...changed].some((pattern) => pattern.includes('['))) return null
    const patterns = before === undefined ? new Set<string>() : movedRoutes(before, after)
    for (const manifest of this.#manifests()) {
      for (const route of manifest.routes) {
        if ([...filesNamed(route, manifest)].some((file) => touched.has(file))) patterns.add(route.pattern)
      }
    }
    return [...patterns]
  }

  #manifests(): SiteManifest[] {
    const { before, after } = this.#change
    return before === undefined ? [after] : [before, after]
  }

  #touchesAll(touched: ReadonlySet<string>): boolean {
    const { before, after } = this.#change
    if (before !== undefined && !isSameForAll(before, after)) return true
    // A module that was never compiled is part of no response.
    return this.#manifests().some((manifest) =>
      [...filesOfAll(manifest)].some((file) => touched.has(file) && this.#known.has(file)),
    )
  }

  /** True if a file may decide where imports of others lead, or may make a route. */
  #isUnclear(): boolean {
    const { before, after, files } = this.#change
    return [...files].some(([file, isThere]) => {
      if (resolverFiles.has(basename(file))) return true
      if (!moduleFile.test(file) || file.startsWith(after.publicDir + sep)) return false
      if (before === undefined) return !isThere || !this.#known.has(file)
      return isThere && !this.#known.has(file) && !this.#named.has(file)
    })
  }
}

/**
 * Looks for the routes whose code a change touches: in the import graph on disk, which knows also what no isolate of this process
 * has loaded. Called before any module is compiled again; the answer comes when the isolates have taken the change in.
 */
export async function touchedRoutes(change: Change): Promise<TouchedRoutes> {
  const { before, after, realRoot, cacheDirs } = change
  if (change.files.size === 0) {
    const movesPaths = before !== undefined && changedPatterns(before, after).size > 0
    return () => ({ routes: null, movesPaths })
  }
  const files = withRealPaths(change.files.keys(), after.root, realRoot)
  const roots = [before, after].flatMap((manifest) => {
    if (manifest === undefined) return []
    return [...manifest.routes.flatMap((route) => filesOfRoute(route, manifest)), ...filesOfAll(manifest)]
  })
  const { modules, known } = await new ImportGraph(new ModuleCache(cacheDirs)).touched(roots, files)
  const seen = new LookedAt(change, new Set([...known, ...plainPathsOf(known, after.root, realRoot)]), modules)
  return (evicted) => seen.reach(evicted)
}

/** The paths of known modules as they are watched. */
function plainPathsOf(known: ReadonlySet<string>, root: string, real: string): string[] {
  return real === root ? [] : [...known].filter((id) => id.startsWith(real + sep)).map((id) => root + id.slice(real.length))
}
