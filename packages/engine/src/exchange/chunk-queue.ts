/** A piece of a response that waits for its turn. */
export interface QueuedChunk {
  readonly bytes: Uint8Array
  /** To be called once the bytes have no reader any more. */
  readonly onUnused: (() => void) | undefined
}

/** So many taken ones stay in front before the others are moved up. */
const MOVED_UP = 64

/** Stands where one was taken. */
const taken: QueuedChunk = { bytes: new Uint8Array(0), onUnused: undefined }

/** Pieces of a response that wait for their turn, maybe hundreds of thousands: taking one costs the same however many there are. */
export class ChunkQueue {
  #chunks: QueuedChunk[] = []
  #first = 0
  /** Bytes of all chunks. */
  bytes = 0

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  push(chunk: QueuedChunk): void {
    this.#chunks.push(chunk)
    this.bytes += chunk.bytes.byteLength
  }

  /** Takes the first one; undefined: there is none. */
  take(): QueuedChunk | undefined {
    const chunk = this.#chunks[this.#first]
    if (chunk === undefined) return undefined
    this.#chunks[this.#first++] = taken
    this.bytes -= chunk.bytes.byteLength
    if (this.#first === this.#chunks.length) {
      this.clear()
    } else if (this.#first >= MOVED_UP && this.#first * 2 >= this.#chunks.length) {
      this.#chunks.splice(0, this.#first)
      this.#first = 0
    }
    return chunk
  }

  /** Puts the rest of a taken chunk back in front. */
  putBack(chunk: QueuedChunk): void {
    if (this.#first > 0) this.#chunks[--this.#first] = chunk
    else this.#chunks.unshift(chunk)
    this.bytes += chunk.bytes.byteLength
  }

  clear(): void {
    this.#chunks = []
    this.#first = 0
    this.bytes = 0
  }
}
