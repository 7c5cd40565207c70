import type { LocationMatch } from '../spec/spec.ts'
import { type CaptureSink, Pattern } from './pattern.ts'

interface LocationEntry<Location> {
  readonly match: LocationMatch
  /** True if a path that lacks only its final slash is redirected to it. */
  readonly addsSlash: boolean
  readonly value: Location
  /** The locations inside of it; undefined: none. */
  readonly nested: LocationTable<Location> | undefined
}

/** The location for a path. */
type LocationChoice<Location> =
  /** `isFinal`: no regular expression around it is tried. */
  | { readonly kind: 'location'; readonly value: Location; readonly isFinal: boolean }
  /** The path lacks its final slash. `value`: the location that it then leads to. */
  | { readonly kind: 'slash'; readonly value: Location; readonly path: string }
  | { readonly kind: 'none' }

interface Prefix<Location> {
  readonly path: string
  readonly isFirst: boolean
  readonly choice: LocationChoice<Location>
  readonly nested: LocationTable<Location> | undefined
}

interface PatternEntry<Location> {
  readonly pattern: Pattern
  readonly choice: LocationChoice<Location>
  readonly nested: LocationTable<Location> | undefined
}

const none = { kind: 'none' } as const

/**
 * The locations of one server, in the order of nginx: an exact path; else the longest prefix, which is final with `^~`; else
 * the first regular expression; else that prefix. Inside the prefix that was found and the expression that fits, it goes on so.
 */
export class LocationTable<Location> {
  readonly #exact = new Map<string, LocationChoice<Location>>()
  /** By their first two characters, longest first. */
  readonly #prefixes = new Map<string, Prefix<Location>[]>()
  readonly #slashes = new Map<string, LocationChoice<Location>>()
  readonly #patterns: PatternEntry<Location>[] = []
  readonly #named = new Map<string, Location>()

  constructor(entries: readonly LocationEntry<Location>[]) {
    for (const entry of entries) this.#add(entry)
    for (const prefixes of this.#prefixes.values()) prefixes.sort((a, b) => b.path.length - a.path.length)
  }

  /** Finds the location of a decoded path. Captures go to `sink`. */
  find(path: string, sink: CaptureSink): LocationChoice<Location> {
    const exact = this.#exact.get(path)
    if (exact !== undefined) return exact
    const prefix = this.#longest(path)
    const slash = this.#slashes.size === 0 || prefix?.path === path ? undefined : this.#slashes.get(path)
    if (slash !== undefined) return slash
    const inside = prefix?.nested?.find(path, sink)
    if (inside?.kind === 'slash' || (inside?.kind === 'location' && inside.isFinal)) return inside
    const best = inside?.kind === 'location' ? inside : prefix?.choice
    if (prefix?.isFirst === true) return best ?? none
    return this.#byPattern(path, sink) ?? best ?? none
  }

  #byPattern(path: string, sink: CaptureSink): LocationChoice<Location> | undefined {
    const match = this.#patterns.find(({ pattern }) => pattern.test(path, sink))
    if (match?.nested === undefined) return match?.choice
    const inside = match.nested.find(path, sink)
    // A prefix inside an expression is as final as the expression itself.
    return inside.kind === 'location' ? { ...inside, isFinal: true } : inside.kind === 'slash' ? inside : match.choice
  }

  named(name: string): Location | undefined {
    return this.#named.get(name)
  }

  #add({ match, addsSlash, value, nested }: LocationEntry<Location>): void {
    switch (match.kind) {
      case 'exact':
        this.#exact.set(match.path, { kind: 'location', value, isFinal: true })
        break
      case 'prefix': {
        const choice = { kind: 'location', value, isFinal: false } as const
        const key = match.path.slice(0, 2)
        const known = this.#prefixes.get(key)
        const prefix = { path: match.path, isFirst: match.isFirst, choice, nested }
        if (known === undefined) this.#prefixes.set(key, [prefix])
        else known.push(prefix)
        break
      }
      case 'pattern':
        this.#patterns.push({
          pattern: new Pattern(match.pattern),
          choice: { kind: 'location', value, isFinal: true },
          nested,
        })
        return
      case 'named':
        this.#named.set(match.name, value)
        return
    }
    if (addsSlash && match.path.length > 1 && match.path.endsWith('/')) this.#addSlash(match.path, match.kind === 'exact', value)
  }

  /** Of an exact location and a prefix with one path, the exact one counts. */
  #addSlash(path: string, isExact: boolean, value: Location): void {
    const key = path.slice(0, -1)
    if (isExact || !this.#slashes.has(key)) this.#slashes.set(key, { kind: 'slash', value, path })
  }

  #longest(path: string): Prefix<Location> | undefined {
    return (
      this.#prefixes.get(path.slice(0, 2))?.find((prefix) => path.startsWith(prefix.path)) ??
      (path.length > 1 ? this.#prefixes.get(path.slice(0, 1))?.[0] : undefined) ??
      this.#prefixes.get('')?.[0]
    )
  }
}
