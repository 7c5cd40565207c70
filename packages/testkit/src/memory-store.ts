import type { CacheStore, EntryFacts, KnownVariance, Purge, StoredEntry, StoreSize, Variance } from '@svc/cache'
import { purgeMatcher, touchesLayer, withoutTrailingSlash } from '@svc/cache'

/** Faults that a test can cause. */
interface StoreFaults {
  /** Reads are misses, as when a page of the store is damaged. */
  failReads: boolean
  /** Nothing is kept, as when the store is full and nothing can be evicted. */
  failWrites: boolean
  /** Writes and purges wait for this before they are committed. */
  commitGate: Promise<void> | undefined
}

/** A store in the memory of one process, for tests: an entry is visible as soon as it is committed. */
export class MemoryStore implements CacheStore {
  readonly faults: StoreFaults = { failReads: false, failWrites: false, commitGate: undefined }
  readonly #entries = new Map<string, StoredEntry>()
  readonly #variances = new Map<string, { readonly variance: Variance; readonly seq: number }>()
  /** Label -> number of the purge with which its code changed last. */
  readonly #changedCode = new Map<string, number>()

  get(key: string): StoredEntry | undefined {
    return this.faults.failReads ? undefined : this.#entries.get(key)
  }

  async put(key: string, facts: EntryFacts, body: Uint8Array): Promise<boolean> {
    await this.faults.commitGate
    if (this.faults.failWrites) return false
    const { isNewcomer: _, ...kept } = facts
    this.#entries.set(key, { ...kept, body: Buffer.from(body) })
    return true
  }

  async purge(purge: Purge): Promise<number> {
    await this.faults.commitGate
    if (!touchesLayer(purge, 'isr')) return 0
    for (const label of purge.changedCode ?? []) this.#changedCode.set(label, purge.number)
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

  variance(label: string, path: string): KnownVariance | undefined {
    const known = this.faults.failReads ? undefined : this.#variances.get(pathKey(label, path))
    return known && { ...known.variance, isOutdated: known.seq < (this.#changedCode.get(label) ?? 0) }
  }

  async noteReads(label: string, path: string, reads: Variance, seq: number): Promise<void> {
    await this.faults.commitGate
    if (this.faults.failWrites) return
    const known = this.variance(label, path)
    const isNew = known === undefined || known.isOutdated
    const query = reads.query || (!isNew && known.query)
    const host = reads.host || (!isNew && known.host)
    const isNarrower = known !== undefined && ((known.query && !query) || (known.host && !host))
    for (const [key, entry] of this.#entries) {
      if (pathKey(entry.label, entry.path) !== pathKey(label, path)) continue
      if (isNarrower || (query && !entry.isQueryKeyed) || (host && entry.host === '')) this.#entries.delete(key)
    }
    const begunAt = isNew ? seq : (this.#variances.get(pathKey(label, path))?.seq ?? seq)
    if (query || host) this.#variances.set(pathKey(label, path), { variance: { query, host }, seq: begunAt })
    else this.#variances.delete(pathKey(label, path))
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
