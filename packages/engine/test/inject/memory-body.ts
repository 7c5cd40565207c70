import type { RequestBody } from '@svc/http'
import { BodyReader, bodyTooLarge, type ChunkListener, type EndListener } from '../../src/exchange/body-reader.ts'

/** A request body held in memory, given out chunk by chunk as it is acknowledged. */
export class MemoryBody implements RequestBody {
  readonly isPresent: boolean
  readonly length: number | undefined
  readonly #chunks: Uint8Array[]
  readonly #maxBytes: number
  #deliveredBytes = 0
  readonly #reader = new BodyReader()

  /** @param length declared length, or undefined for a chunked body */
  constructor(chunks: readonly Uint8Array[], length: number | undefined, maxBytes: number) {
    this.#chunks = [...chunks]
    this.isPresent = chunks.length > 0
    this.length = this.isPresent ? length : undefined
    this.#maxBytes = maxBytes
  }

  read(onChunk: ChunkListener, onEnd: EndListener): void {
    this.#reader.begin(onChunk, onEnd)
    this.#next()
  }

  /** Ends reading with an error. */
  fail(error: Error): void {
    this.#chunks.length = 0
    this.#reader.end(error)
  }

  #next(): void {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) {
      this.#reader.end(undefined)
      return
    }
    this.#deliveredBytes += chunk.byteLength
    if (this.#deliveredBytes > this.#maxBytes) {
      this.fail(bodyTooLarge(this.#maxBytes))
      return
    }
    this.#reader.hand(chunk.slice(), () => queueMicrotask(() => this.#next()))
  }
}
