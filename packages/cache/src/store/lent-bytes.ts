const SLAB_BYTES = 1 << 20
/** Larger ones get memory of their own: it is the making of much garbage that costs, not of some. */
const MAX_LENT_BYTES = 256 << 10

/**
 * Copies for callers that need them until the end of the turn: the same warm memory again and again, since fresh memory for each copy
 * costs several times the copying.
 */
export class LentBytes {
  #slab: Buffer | undefined
  #used = 0
  #isEndScheduled = false

  /** A copy of `bytes[start..end)`; it may be overwritten after this turn. */
  copyOf(bytes: Buffer, start: number, end: number): Buffer {
    const length = end - start
    const copy = length > MAX_LENT_BYTES ? Buffer.allocUnsafe(length) : this.#take(length)
    bytes.copy(copy, 0, start, end)
    return copy
  }

  #take(length: number): Buffer {
    let slab = this.#slab
    if (slab === undefined || this.#used + length > SLAB_BYTES) {
      // Bytes lent in this turn stay valid: they keep the old slab.
      slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#slab = slab
      this.#used = 0
    }
    const from = this.#used
    this.#used += length
    this.#scheduleEnd()
    return slab.subarray(from, this.#used)
  }

  #scheduleEnd(): void {
    if (this.#isEndScheduled) return
    this.#isEndScheduled = true
    setImmediate(() => {
      this.#isEndScheduled = false
      this.#used = 0
    })
  }
}
