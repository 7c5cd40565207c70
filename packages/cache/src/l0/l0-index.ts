import { type PurgeMatcher, purgeMatcher } from '../purge/match-purge.ts'
import type { Purge, Purgeable, PurgeScope } from '../purge/purge.ts'
import { coversLabel, globPrefix, tagMatcher, uriTag, withoutTrailingSlash } from '../tags/tags.ts'

/** The fields of an entry that the index reads. */
interface Indexed {
  readonly facts: { readonly purgeables: readonly Purgeable[] }
}

/** Entries by one property. Most paths have one entry, which then stands for its set: sets are large. */
class Shelf<Entry extends object> {
  readonly #byName = new Map<string, Entry | Set<Entry>>()

  add(name: string, entry: Entry): void {
    const found = this.#byName.get(name)
    if (found === undefined) this.#byName.set(name, entry)
    else if (found instanceof Set) found.add(entry)
    else if (found !== entry) this.#byName.set(name, new Set([found, entry]))
  }

  remove(name: string, entry: Entry): void {
    const found = this.#byName.get(name)
    if (found === entry) this.#byName.delete(name)
    else if (found instanceof Set && found.delete(entry) && found.size === 0) this.#byName.delete(name)
  }

  *get(name: string): Iterable<Entry> {
    const found = this.#byName.get(name)
    if (found instanceof Set) yield* found
    else if (found !== undefined) yield found
  }

  names(): Iterable<string> {
    return this.#byName.keys()
  }
}

/** Directories of a path that are indexed, so that a long path costs no more than this. */
const MAX_DEPTH = 8

/**
 * Finds the entries that a purge covers, at a cost in proportion to their number: by label, host, tag, path and directory. A pattern looks at the
 * tags there are, or at the entries of the label that it begins with.
 */
export class L0Index<Entry extends Indexed> {
  readonly #all = new Set<Entry>()
  readonly #labels = new Shelf<Entry>()
  readonly #hosts = new Shelf<Entry>()
  readonly #tags = new Shelf<Entry>()
  readonly #paths = new Shelf<Entry>()
  /** By host and directory. */
  readonly #directories = new Shelf<Entry>()

  /** All entries, each once. Entries that are added during the iteration come last. */
  all(): Iterable<Entry> {
    return this.#all
  }

  add(entry: Entry): void {
    this.#all.add(entry)
    for (const purgeable of entry.facts.purgeables) this.#each(purgeable, (shelf, name) => shelf.add(name, entry))
  }

  remove(entry: Entry): void {
    this.#all.delete(entry)
    for (const purgeable of entry.facts.purgeables) this.#each(purgeable, (shelf, name) => shelf.remove(name, entry))
  }

  /** The entries that a purge takes, each once. */
  taken({ scopes, labels }: Pick<Purge, 'scopes' | 'labels'>): ReadonlySet<Entry> {
    const taken = new Set<Entry>()
    for (const scope of scopes) {
      const isMatch: PurgeMatcher = purgeMatcher({ scopes: [scope], labels })
      for (const entry of this.#candidates(scope)) {
        if (entry.facts.purgeables.some(isMatch)) taken.add(entry)
      }
    }
    return taken
  }

  #each(purgeable: Purgeable, act: (shelf: Shelf<Entry>, name: string) => void): void {
    act(this.#labels, purgeable.label)
    act(this.#hosts, purgeable.host)
    act(this.#paths, withoutTrailingSlash(purgeable.path))
    for (const tag of purgeable.tags) act(this.#tags, tag)
    for (const directory of directoriesOf(purgeable.path)) act(this.#directories, purgeable.host + directory)
  }

  *#candidates(scope: PurgeScope): Iterable<Entry> {
    switch (scope.kind) {
      case 'everything':
        yield* this.#all
        return
      case 'labels':
        for (const label of scope.labels) yield* this.#labels.get(label)
        return
      case 'hosts':
        for (const host of scope.hosts) yield* this.#hosts.get(host)
        return
      case 'tags':
        for (const tag of scope.tags) yield* this.#tags.get(tag)
        return
      case 'uris':
        for (const uri of scope.uris) yield* this.#tags.get(uriTag(uri))
        return
      case 'pattern':
        yield* this.#ofPattern(scope.pattern)
        return
      case 'paths':
        for (const path of scope.paths) yield* this.#paths.get(withoutTrailingSlash(path))
        return
      case 'prefixes':
        for (const host of scope.hosts) for (const prefix of scope.prefixes) yield* this.#below(host, prefix)
    }
  }

  *#ofPattern(pattern: string): Iterable<Entry> {
    const label = /^route:([^:]+):/.exec(globPrefix(pattern))?.[1]
    if (label !== undefined) {
      yield* this.#labels.get(label)
      return
    }
    const matchesTag = tagMatcher(pattern)
    for (const name of this.#labels.names()) if (coversLabel(matchesTag, name)) yield* this.#labels.get(name)
    for (const tag of this.#tags.names()) if (matchesTag(tag)) yield* this.#tags.get(tag)
  }

  #below(host: string, prefix: string): Iterable<Entry> {
    return this.#directories.get(host + (directoriesOf(prefix).at(-1) ?? '/'))
  }
}

/** The directories that a path lies in, each with its slash at the end: of `/a/b` they are `/` and `/a/`. */
function directoriesOf(path: string): string[] {
  const directories: string[] = []
  for (let slash = path.indexOf('/'); slash !== -1 && directories.length < MAX_DEPTH; slash = path.indexOf('/', slash + 1)) {
    directories.push(path.slice(0, slash + 1))
  }
  return directories
}
