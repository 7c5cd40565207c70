/** A file kept in memory, valid as long as the file on disk is in the same state. */
interface CachedFile {
  readonly state: string
  readonly content: Buffer
}

/** Memory cost of an entry beside its content. */
const ENTRY_OVERHEAD_BYTES = 512

/** Contents of small files by absolute path, bounded by bytes; the least recently used go first. */
export class SmallFileCache {
  readonly #entries = new Map<string, CachedFile>()
  readonly #maxBytes: number
  /** Content in memory, overhead included, in bytes. */
  bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#entries.size
  }

  /** The content of a file that is in `state` on disk. An entry of another state is dropped. */
  get(path: string, state: string): Buffer | undefined {
    const entry = this.#entries.get(path)
    if (entry === undefined) return undefined
    this.#entries.delete(path)
    if (entry.state !== state) {
      this.bytes -= costOf(entry)
      return undefined
    }
    this.#entries.set(path, entry)
    return entry.content
  }

  set(path: string, entry: CachedFile): void {
    this.delete(path)
    if (costOf(entry) > this.#maxBytes) return
    this.#entries.set(path, entry)
    this.bytes += costOf(entry)
    for (const oldest of this.#entries.keys()) {
      if (this.bytes <= this.#maxBytes) return
      this.delete(oldest)
    }
  }

  delete(path: string): void {
    const entry = this.#entries.get(path)
    if (entry === undefined) return
    this.#entries.delete(path)
    this.bytes -= costOf(entry)
  }
}

function costOf(entry: CachedFile): number {
  return entry.content.byteLength + ENTRY_OVERHEAD_BYTES
}
