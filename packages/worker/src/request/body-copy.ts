/** Collects a copy of a body in pieces, up to a bound. */
export class BodyCopy {
  readonly #maxBytes: number
  #pieces: Uint8Array[] = []
  #bytes = 0
  #isTooLarge = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Takes a piece, which must not change any more. False: the body is too large, and the copy is dropped. */
  add(piece: Uint8Array): boolean {
    this.#bytes += piece.byteLength
    if (this.#bytes > this.#maxBytes) {
      this.#isTooLarge = true
      this.#pieces = []
    }
    if (this.#isTooLarge) return false
    this.#pieces.push(piece)
    return true
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces, this.#bytes)
  }
}
