/** Bytes of a bucket, beside those of a long key. */
const BUCKET_BYTES = 128
/** Bytes of a key that a bucket has room for. */
const KEY_BYTES = 48

interface Bucket {
  /** Thousandths of requests above the rate. */
  readonly excess: number
  /** Milliseconds. */
  readonly at: number
}

/** Bytes that an entry of a table takes, in round figures. */
export function tableEntryBytes(key: string): number {
  return BUCKET_BYTES + Math.max(0, key.length - KEY_BYTES)
}

/**
 * Leaky buckets by key, which count how far requests are above a rate. The least recently used ones are dropped when there is no more
 * room. Times are in milliseconds, rates and excess in thousandths of requests.
 */
export class LeakyBuckets {
  readonly #buckets = new Map<string, Bucket>()
  #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#buckets.size
  }

  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes
    this.#makeRoom(0)
  }

  /** The excess with one more request, which is not counted yet. The first request of a key has none. */
  excessOf(key: string, rate: number, now: number): number {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return 0
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    return Math.max(0, bucket.excess - Math.trunc((rate * (now - bucket.at)) / 1000) + 1000)
  }

  /** Counts a request. `excess`: as `excessOf` has found it in the same millisecond. */
  count(key: string, excess: number, now: number): void {
    if (this.#buckets.delete(key)) this.#bytes -= tableEntryBytes(key)
    this.#makeRoom(tableEntryBytes(key))
    this.#buckets.set(key, { excess, at: now })
    this.#bytes += tableEntryBytes(key)
  }

  #makeRoom(bytes: number): void {
    for (const key of this.#buckets.keys()) {
      if (this.#bytes + bytes <= this.#maxBytes) return
      this.#buckets.delete(key)
      this.#bytes -= tableEntryBytes(key)
    }
  }
}
