import { fullTag, type Purge, type PurgeScope, pathTag, tagMatcher } from '@svc/cache'
import type { RoutePlace } from '../../thread/data/data-methods.ts'

/** Past this many paths, or globs, data older than the forgotten ones is not served to any page. */
const MAX_PATHS = 10_000
const MAX_GLOBS = 200

interface GlobPurge {
  readonly glob: string
  readonly number: number
  readonly isMatch: (tag: string) => boolean
}

/**
 * Which paths were purged, and when. A page that was purged is made anew of new data, also where the data carries no tag that
 * was purged: one result serves many pages, so it does not know them, but each page knows itself.
 */
export class PathPurges {
  readonly #paths = new Map<string, number>()
  #globs: GlobPurge[] = []
  /** Purges up to this number may have been forgotten. */
  #floor = 0

  /** Takes note of a purge, as far as it is about paths. */
  add({ number, scopes, mode }: Purge): void {
    if (mode !== 'drop') return
    for (const scope of scopes) this.#addScope(number, scope)
  }

  /** Whether data made by a fill of this `seq` is too old for a page. */
  takes(label: string, { path, pattern }: RoutePlace, seq: number): boolean {
    if (seq < this.#floor) return true
    if (this.#paths.size === 0 && this.#globs.length === 0) return false
    const tags = [pathTag(label, path), fullTag(label, pattern)]
    if (tags.some((tag) => (this.#paths.get(tag) ?? 0) > seq)) return true
    return this.#globs.some(({ number, isMatch }) => number > seq && tags.some(isMatch))
  }

  #addScope(number: number, scope: PurgeScope): void {
    if (scope.kind === 'tags') for (const tag of scope.tags) if (isPathTag(tag)) this.#addPath(tag, number)
    if (scope.kind !== 'pattern' || !isPathTag(scope.pattern)) return
    this.#globs = this.#globs.filter(({ glob }) => glob !== scope.pattern)
    this.#globs.push({ glob: scope.pattern, number, isMatch: tagMatcher(scope.pattern) })
    if (this.#globs.length > MAX_GLOBS) this.#floor = Math.max(this.#floor, this.#globs.shift()?.number ?? 0)
  }

  #addPath(tag: string, number: number): void {
    this.#paths.delete(tag)
    this.#paths.set(tag, number)
    const [oldest] = this.#paths
    if (this.#paths.size <= MAX_PATHS || oldest === undefined) return
    this.#paths.delete(oldest[0])
    this.#floor = Math.max(this.#floor, oldest[1])
  }
}

/** Names of paths and of route patterns begin with a slash, tags of site code never do. */
function isPathTag(tag: string): boolean {
  return /^route:[^:]+:\//.test(tag)
}
