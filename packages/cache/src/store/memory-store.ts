import { purgeMatcher, touchesLayer } from '../purge/match-purge.ts'
import type { Purge } from '../purge/purge.ts'
import { withoutTrailingSlash } from '../tags/tags.ts'
import type { CacheStore, StoreSize } from './cache-store.ts'
import type { EntryFacts, StoredEntry, Variance } from './entry.ts'

/** What a test can make go wrong. */
export interface StoreFaults {
  /** Reads are misses, as when a page of the store is damaged. */
  failReads: boolean
  /** Nothing is kept, as when the store is full and nothing can be evicted. */
  failWrites: boolean
  /** Writes and purges wait for this before they are committed. */
  commitGate: Promise<void> | undefined
}

/** A store in the memory of one process, for tests: what is put shows up at once when it is committed. */
export class MemoryStore implements CacheStore {
  readonly faults: StoreFaults = { failReads: false, failWrites: false, commitGate: undefined }
  readonly #entries = new Map<string, StoredEntry>()
  readonly #variances = new Map<string, Variance>()

  get(key: string): StoredEntry | undefined {
    return this.faults.failReads ? undefined : this.#entries.get(key)
  }

  async put(key: string, facts: EntryFacts, body: Uint8Array): Promise<boolean> {
    await this.faults.commitGate
    if (this.faults.failWrites) return false
    this.#entries.set(key, { ...facts, body: Buffer.from(body) })
    return true
  }

  async purge(purge: Purge): Promise<number> {
    await this.faults.commitGate
    if (!touchesLayer(purge, 'isr')) return 0
    const isMatch = purgeMatcher(purge)
    let count = 0
    for (const [key, entry] of this.#entries) {
      if (entry.seq >= purge.number || !isMatch(entry)) continue
      count++
      if (purge.mode === 'stale') this.#entries.set(key, { ...entry, isMarkedStale: true })
      else this.#drop(key, entry)
    }
    return count
  }

  variance(label: string, path: string): Variance | undefined {
    return this.faults.failReads ? undefined : this.#variances.get(pathKey(label, path))
  }

  async widen(label: string, path: string, variance: Variance): Promise<void> {
    await this.faults.commitGate
    if (this.faults.failWrites) return
    const known = this.#variances.get(pathKey(label, path))
    const query = variance.query || (known?.query ?? false)
    const host = variance.host || (known?.host ?? false)
    for (const [key, entry] of this.#entries) {
      if (pathKey(entry.label, entry.path) !== pathKey(label, path)) continue
      if ((query && !entry.isQueryKeyed) || (host && entry.host === '')) this.#entries.delete(key)
    }
    this.#variances.set(pathKey(label, path), { query, host })
  }

  size(): StoreSize {
    let bytes = 0
    for (const { body } of this.#entries.values()) bytes += body.byteLength
    return { entries: this.#entries.size, bytes }
  }

  /** A variance record goes with the last entry of its path. */
  #drop(key: string, { label, path }: StoredEntry): void {
    this.#entries.delete(key)
    const pathOf = pathKey(label, path)
    for (const other of this.#entries.values()) if (pathKey(other.label, other.path) === pathOf) return
    this.#variances.delete(pathOf)
  }
}

function pathKey(label: string, path: string): string {
  return `${label}\0${withoutTrailingSlash(path)}`
}
