import type { BodyWriter } from '@svc/http'

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

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  push(chunk: QueuedChunk): void {
    this.#chunks.push(chunk)
  }

  /** Takes the first one; undefined: there is none. */
  take(): QueuedChunk | undefined {
    const chunk = this.#chunks[this.#first]
    if (chunk === undefined) return undefined
    this.#chunks[this.#first++] = taken
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
  }

  clear(): void {
    this.#chunks = []
    this.#first = 0
  }
}

/** The one listener of a writer, called once after each time that a write said "wait". */
export class DrainSignal {
  #listener: (() => void) | undefined
  #isAwaited = false

  listen(listener: () => void): void {
    this.#listener = listener
  }

  /** The last write returned "wait". */
  arm(): void {
    this.#isAwaited = true
  }

  fire(): void {
    if (!this.#isAwaited) return
    this.#isAwaited = false
    this.#listener?.()
  }
}

/** Takes a body that is not sent: for HEAD, 204, 304, and clients that are gone. */
export const discardingWriter: BodyWriter = Object.freeze({
  write: () => true,
  onDrain: () => undefined,
  end: () => undefined,
  abort: () => undefined,
})
