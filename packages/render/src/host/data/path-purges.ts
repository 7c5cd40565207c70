import { type CacheStore, dataKey, type EntryFacts, fullTag, type Purge, type PurgeScope, pathTag, tagMatcher } from '@svc/cache'
import type { RoutePlace } from '../../contract/data-methods.ts'

/** Properties of a data entry besides its key and body. */
type DataFacts = Pick<EntryFacts, 'label' | 'tags' | 'createdAt' | 'ttlMs' | 'swrMs' | 'seq' | 'isNewcomer'>

/** The facts of an entry of data: it has no path, no host, and nothing of a response. */
export function dataFacts(facts: DataFacts): EntryFacts {
  return { ...facts, kind: 'data', path: '', host: '', isQueryKeyed: false, isMarkedStale: false, status: 0, headers: [] }
}

/** Past this many purged paths, or globs, of a site, data that is older than the forgotten ones is served to none of its pages. */
const MAX_PATHS = 1_000
const MAX_GLOBS = 100

/** The record of a purge in the store. */
interface KeptPurges {
  readonly floor: number
  readonly paths: readonly (readonly [tag: string, number: number])[]
  readonly globs: readonly (readonly [glob: string, number: number])[]
}

/** The purged paths of one site, by number of the purge. */
class SitePaths {
  readonly #paths: Map<string, number>
  #globs: { readonly glob: string; readonly number: number; readonly isMatch: (tag: string) => boolean }[] = []
  /** Purges up to this number may have been forgotten. */
  #floor: number

  constructor({ floor, paths, globs }: KeptPurges = { floor: 0, paths: [], globs: [] }) {
    this.#floor = floor
    this.#paths = new Map(paths)
    for (const [glob, number] of globs) this.addGlob(glob, number)
  }

  /** True if there is a record to store. */
  get isEmpty(): boolean {
    return this.#paths.size === 0 && this.#globs.length === 0
  }

  takes(tags: readonly string[], seq: number): boolean {
    if (seq < this.#floor) return true
    if (tags.some((tag) => (this.#paths.get(tag) ?? 0) > seq)) return true
    return this.#globs.some(({ number, isMatch }) => number > seq && tags.some(isMatch))
  }

  addPath(tag: string, number: number): void {
    this.#paths.delete(tag)
    this.#paths.set(tag, number)
    const [oldest] = this.#paths
    if (this.#paths.size <= MAX_PATHS || oldest === undefined) return
    this.#paths.delete(oldest[0])
    this.#floor = Math.max(this.#floor, oldest[1])
  }

  addGlob(glob: string, number: number): void {
    this.#globs = this.#globs.filter((known) => known.glob !== glob)
    this.#globs.push({ glob, number, isMatch: tagMatcher(glob) })
    if (this.#globs.length > MAX_GLOBS) this.#floor = Math.max(this.#floor, this.#globs.shift()?.number ?? 0)
  }

  toJSON(): KeptPurges {
    return { floor: this.#floor, paths: [...this.#paths], globs: this.#globs.map(({ glob, number }) => [glob, number]) }
  }
}

/** The store of the records. */
type PathPurgeStore = Pick<CacheStore, 'get' | 'put'> & {
  /** Notes that an entry was used. */
  touch(key: string): void
}

/** Names of paths and of route patterns begin with a slash, tags of site code never do. */
const pathTagPattern = /^route:([^:*]+):\//

/**
 * Which paths were purged, and when. A page that was purged is rendered again from new data, also where the data carries no tag that
 * was purged: one result serves many pages, so it does not know them, but each page knows itself. Kept in the store, so that
 * hosts that start later know it too: the master carries out one purge after the other, and all hosts write the same.
 */
export class PathPurges {
  readonly #store: () => PathPurgeStore | undefined
  readonly #now: () => number
  readonly #sites = new Map<string, SitePaths>()
  /** Globs that are not of one site. */
  readonly #everywhere = new SitePaths()

  constructor(store: () => PathPurgeStore | undefined, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Takes note of a purge, as far as it is about paths. Resolves when it is in the store. */
  async add({ number, scopes, mode }: Purge): Promise<void> {
    if (mode !== 'drop') return
    const labels = new Set(scopes.flatMap((scope) => this.#addScope(number, scope)))
    await Promise.all([...labels].map((label) => this.#keep(label, number)))
  }

  /** True if data made by a fill of this `seq` is too old for a page. */
  takes(label: string, { path, pattern }: RoutePlace, seq: number): boolean {
    const tags = [pathTag(label, path), fullTag(label, pattern)]
    const site = this.#siteOf(label)
    // The record must not be evicted before the data that it is about.
    if (!site.isEmpty) this.#store()?.touch(keyOf(label))
    return site.takes(tags, seq) || this.#everywhere.takes(tags, seq)
  }

  /** Returns the labels whose paths it names. */
  #addScope(number: number, scope: PurgeScope): string[] {
    if (scope.kind === 'tags') return scope.tags.flatMap((tag) => this.#addPath(tag, number))
    if (scope.kind !== 'pattern') return []
    const label = pathTagPattern.exec(scope.pattern)?.[1]
    if (label === undefined) {
      this.#everywhere.addGlob(scope.pattern, number)
      return []
    }
    this.#siteOf(label).addGlob(scope.pattern, number)
    return [label]
  }

  #addPath(tag: string, number: number): string[] {
    const label = pathTagPattern.exec(tag)?.[1]
    if (label === undefined) return []
    this.#siteOf(label).addPath(tag, number)
    return [label]
  }

  #siteOf(label: string): SitePaths {
    const known = this.#sites.get(label)
    if (known !== undefined) return known
    const body = this.#store()?.get(keyOf(label))?.body
    const made = new SitePaths(body === undefined ? undefined : (JSON.parse(Buffer.from(body).toString()) as KeptPurges))
    this.#sites.set(label, made)
    return made
  }

  async #keep(label: string, number: number): Promise<void> {
    const facts = dataFacts({ label, tags: [], createdAt: this.#now(), ttlMs: null, swrMs: 0, seq: number })
    await this.#store()?.put(keyOf(label), facts, Buffer.from(JSON.stringify(this.#siteOf(label))))
  }
}

function keyOf(label: string): string {
  return dataKey(label, 'purged paths')
}
