import { randomFillSync } from 'node:crypto'

const HEX = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))
/** Two characters for each byte, in one array. */
const HEX_CODES = Buffer.from(HEX.join(''), 'latin1')
/** Random bytes are fetched for this many ids at once: one call into the system's generator costs more than an id. */
const IDS_PER_REFILL = 128
const RANDOM_BYTES = 10
const DASH = 0x2d
/** Random bytes that a dash stands before. */
const DASHED = [false, false, true, false, true, false, false, false, false, false]

/** Characters of a request id. */
export const REQUEST_ID_LENGTH = 36

/**
 * Makes request ids: UUID version 7 (RFC 9562 section 5.7), so that ids sort by time. Within one millisecond and one
 * generator they are unordered; their 74 random bits keep them apart over all processes.
 */
export class RequestIds {
  readonly #now: () => number
  readonly #pool = new Uint8Array(IDS_PER_REFILL * RANDOM_BYTES)
  #offset = this.#pool.length
  #lastMs = -1
  /** The time, as the first 14 characters of an id. */
  #prefix = Buffer.alloc(0)

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Makes an id. May be passed on without its object. */
  readonly next = (): string => {
    const id = Buffer.allocUnsafe(REQUEST_ID_LENGTH)
    this.put(id, 0)
    return id.toString('latin1')
  }

  /** Makes an id, and writes its 36 characters. */
  put(target: Uint8Array, at: number): void {
    this.#prepare()
    const pool = this.#pool
    const offset = this.#offset
    target.set(this.#prefix, at)
    let end = at + this.#prefix.byteLength
    for (let i = 0; i < RANDOM_BYTES; i++) {
      if (DASHED[i]) target[end++] = DASH
      const digits = (pool[offset + i] as number) * 2
      target[end++] = HEX_CODES[digits] as number
      target[end++] = HEX_CODES[digits + 1] as number
    }
    this.#offset += RANDOM_BYTES
  }

  /** Sees to the time and to random bytes with version and variant. */
  #prepare(): void {
    const ms = this.#now()
    if (ms !== this.#lastMs) {
      this.#lastMs = ms
      const text = ms.toString(16).padStart(12, '0')
      this.#prefix = Buffer.from(`${text.slice(0, 8)}-${text.slice(8)}-`, 'latin1')
    }
    const pool = this.#pool
    if (this.#offset === pool.length) {
      randomFillSync(pool)
      this.#offset = 0
    }
    pool[this.#offset] = 0x70 | ((pool[this.#offset] as number) & 0x0f)
    pool[this.#offset + 2] = 0x80 | ((pool[this.#offset + 2] as number) & 0x3f)
  }
}
