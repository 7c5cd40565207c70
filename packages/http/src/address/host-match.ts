/** A value and the host names that lead to it. */
export interface HostEntry<T> {
  /** Exact names, `*.suffix`, `.suffix` (the name itself and everything below it) or `prefix.*`; lower case. */
  readonly hostnames: readonly string[]
  /** True if hosts that nothing else matches come here. */
  readonly isDefault: boolean
  readonly value: T
}

/** How a host name was matched. */
export type HostMatchKind = 'exact' | 'suffix' | 'prefix' | 'default'

export interface HostMatch<T> {
  readonly value: T
  readonly kind: HostMatchKind
}

/**
 * Finds the site of a host name: exact name, then the longest `*.suffix`, then the longest `prefix.*`, then the default,
 * else the first entry. A wildcard stands for one or more labels. A lookup costs a few Map reads, however many sites there
 * are, and allocates no result. The first of two entries that claim one name gets it.
 */
export class HostMatcher<T> {
  readonly #exact = new Map<string, HostMatch<T>>()
  readonly #suffixes = new Map<string, HostMatch<T>>()
  readonly #prefixes = new Map<string, HostMatch<T>>()
  readonly #default: HostMatch<T> | undefined

  constructor(entries: readonly HostEntry<T>[]) {
    for (const { hostnames, value } of entries) for (const hostname of hostnames) this.#add(hostname, value)
    const fallback = entries.find((entry) => entry.isDefault) ?? entries[0]
    this.#default = fallback === undefined ? undefined : { value: fallback.value, kind: 'default' }
  }

  /** Finds the entry for a host name as `parseHost` gives it; undefined only when there are no entries. */
  match(hostname: string): HostMatch<T> | undefined {
    return this.#exact.get(hostname) ?? this.#matchSuffix(hostname) ?? this.#matchPrefix(hostname) ?? this.#default
  }

  #add(hostname: string, value: T): void {
    if (hostname.startsWith('*.')) addFirst(this.#suffixes, hostname.slice(1), { value, kind: 'suffix' })
    else if (hostname.endsWith('.*')) addFirst(this.#prefixes, hostname.slice(0, -1), { value, kind: 'prefix' })
    else if (hostname.startsWith('.')) {
      addFirst(this.#exact, hostname.slice(1), { value, kind: 'exact' })
      addFirst(this.#suffixes, hostname, { value, kind: 'suffix' })
    } else addFirst(this.#exact, hostname, { value, kind: 'exact' })
  }

  #matchSuffix(hostname: string): HostMatch<T> | undefined {
    if (this.#suffixes.size === 0) return undefined
    for (let dot = hostname.indexOf('.'); dot !== -1; dot = hostname.indexOf('.', dot + 1)) {
      const found = dot === 0 ? undefined : this.#suffixes.get(hostname.slice(dot))
      if (found !== undefined) return found
    }
    return undefined
  }

  #matchPrefix(hostname: string): HostMatch<T> | undefined {
    if (this.#prefixes.size === 0) return undefined
    let dot = hostname.lastIndexOf('.', hostname.length - 2)
    for (; dot > 0; dot = hostname.lastIndexOf('.', dot - 1)) {
      const found = this.#prefixes.get(hostname.slice(0, dot + 1))
      if (found !== undefined) return found
    }
    return undefined
  }
}

function addFirst<T>(map: Map<string, HostMatch<T>>, key: string, match: HostMatch<T>): void {
  if (!map.has(key)) map.set(key, match)
}
