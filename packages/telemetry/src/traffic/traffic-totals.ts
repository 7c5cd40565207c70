import type { ByteReader, ByteWriter } from './byte-codec.ts'
import { LatencySketch } from './latency-sketch.ts'

/** Caches that can answer a request. */
export type HitLayer = 'l0' | 'isr' | 'proxy'

// Places in the array of counts. The status classes have 1 to 5.
const REQUESTS = 0
const BYTES = 6
const LAYERS: Readonly<Record<HitLayer, number>> = { l0: 7, isr: 8, proxy: 9 }
const MISSES = 10
const COUNTS = 11

/** Counts of the requests of a site in some time. */
export class TrafficTotals {
  readonly #counts = new Float64Array(COUNTS)
  /** Of responses whose length clients do not choose. */
  readonly latency = new LatencySketch()

  get requests(): number {
    return this.#counts[REQUESTS] as number
  }

  /** Body bytes sent. */
  get bytes(): number {
    return this.#counts[BYTES] as number
  }

  /** Requests with GET or HEAD that no cache answered. */
  get misses(): number {
    return this.#counts[MISSES] as number
  }

  /** Responses with a status of this class. */
  status(statusClass: 1 | 2 | 3 | 4 | 5): number {
    return this.#counts[statusClass] as number
  }

  /** Requests that a cache answered. */
  hits(layer: HitLayer): number {
    return this.#counts[LAYERS[layer]] as number
  }

  /** Counts a request, beside its cache and its latency. */
  record(status: number, bytes: number): void {
    const counts = this.#counts
    counts[REQUESTS] = (counts[REQUESTS] as number) + 1
    const statusClass = (status / 100) | 0
    if (statusClass >= 1 && statusClass <= 5) counts[statusClass] = (counts[statusClass] as number) + 1
    counts[BYTES] = (counts[BYTES] as number) + bytes
  }

  recordHit(layer: HitLayer): void {
    this.#counts[LAYERS[layer]] = (this.#counts[LAYERS[layer]] as number) + 1
  }

  recordMiss(): void {
    this.#counts[MISSES] = (this.#counts[MISSES] as number) + 1
  }

  add(other: TrafficTotals): void {
    for (let index = 0; index < COUNTS; index++)
      this.#counts[index] = (this.#counts[index] as number) + (other.#counts[index] as number)
    this.latency.add(other.latency)
  }

  clear(): void {
    this.#counts.fill(0)
    this.latency.clear()
  }

  encode(writer: ByteWriter): void {
    for (const count of this.#counts) writer.number(count)
    this.latency.encode(writer)
  }

  /** Adds encoded totals. */
  addEncoded(reader: ByteReader): void {
    for (let index = 0; index < COUNTS; index++) this.#counts[index] = (this.#counts[index] as number) + reader.number()
    this.latency.addEncoded(reader)
  }
}
