import type { ByteReader, ByteWriter } from './byte-codec.ts'

/** Largest relative error of a quantile. */
const ACCURACY = 0.02
const GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
const PER_LOG = 1 / Math.log(GAMMA)
/** Shorter latencies count as this one. */
const MIN_MS = 0.01
/** Longer ones count as this one: about a quarter of an hour. */
const MAX_MS = 1_000_000
const LAST_BIN = Math.ceil(Math.log(MAX_MS / MIN_MS) * PER_LOG)
/** Counts are kept for runs of so many bins. */
const CHUNK_BINS = 32

/** The bin of a latency. */
export function latencyBin(ms: number): number {
  // Not "ms <= MIN_MS": NaN must have a bin, too.
  if (!(ms > MIN_MS)) return 0
  return Math.min(LAST_BIN, Math.ceil(Math.log(ms / MIN_MS) * PER_LOG))
}

/** A latency that is within the accuracy of all latencies of a bin. */
function latencyOf(bin: number): number {
  return bin === 0 ? MIN_MS : (2 * MIN_MS * GAMMA ** bin) / (GAMMA + 1)
}

/**
 * Latencies counted in bins that grow by a constant factor, as DDSketch (Masson, Rim and Lee, 2019) does. All sketches have the same bins, so
 * adding two of them loses nothing. docs/decisions has the comparison with libraries.
 */
export class LatencySketch {
  /** Counts from bin `#first` on. */
  #counts = new Float64Array(0)
  #first = 0
  #count = 0

  /** Latencies that were recorded. */
  get count(): number {
    return this.#count
  }

  record(bin: number, times = 1): void {
    const index = bin - this.#first
    if (index >= 0 && index < this.#counts.length) this.#counts[index] = (this.#counts[index] as number) + times
    else {
      this.#widen(bin)
      this.#counts[bin - this.#first] = (this.#counts[bin - this.#first] as number) + times
    }
    this.#count += times
  }

  add(other: LatencySketch): void {
    other.#counts.forEach((times, index) => {
      if (times > 0) this.record(other.#first + index, times)
    })
  }

  /** The latency in milliseconds that a share `q` of the requests does not exceed; NaN: there are none. */
  quantile(q: number): number {
    let rest = q * (this.#count - 1)
    for (let index = 0; index < this.#counts.length; index++) {
      rest -= this.#counts[index] as number
      if (rest < 0) return latencyOf(this.#first + index)
    }
    return Number.NaN
  }

  /** Number of latencies of at most so many milliseconds, within the accuracy. */
  countUpTo(ms: number): number {
    const bin = latencyBin(ms)
    const end = (latencyOf(bin) <= ms ? bin + 1 : bin) - this.#first
    return this.#counts.subarray(0, Math.max(0, end)).reduce((sum, times) => sum + times, 0)
  }

  clear(): void {
    this.#counts.fill(0)
    this.#count = 0
  }

  encode(writer: ByteWriter): void {
    let last = 0
    writer.number(this.#counts.reduce((bins, times) => (times > 0 ? bins + 1 : bins), 0))
    this.#counts.forEach((times, index) => {
      if (times === 0) return
      writer.number(this.#first + index - last)
      writer.number(times)
      last = this.#first + index
    })
  }

  /** Adds an encoded sketch. */
  addEncoded(reader: ByteReader): void {
    let bin = 0
    for (let bins = reader.number(); bins > 0; bins--) {
      bin = Math.min(LAST_BIN, bin + reader.number())
      this.record(bin, reader.number())
    }
  }

  /** Makes room for a bin. */
  #widen(bin: number): void {
    const isEmpty = this.#counts.length === 0
    const first = Math.floor(bin / CHUNK_BINS) * CHUNK_BINS
    const start = isEmpty ? first : Math.min(first, this.#first)
    const end = Math.max(first + CHUNK_BINS, isEmpty ? 0 : this.#first + this.#counts.length)
    const counts = new Float64Array(end - start)
    counts.set(this.#counts, isEmpty ? 0 : this.#first - start)
    this.#counts = counts
    this.#first = start
  }
}
