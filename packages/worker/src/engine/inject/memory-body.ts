import { HttpError, type RequestBody } from '@svc/http'

/** A request body held in memory, given out chunk by chunk as it is acknowledged. */
export class MemoryBody implements RequestBody {
  readonly isPresent: boolean
  readonly length: number | undefined
  readonly #chunks: Uint8Array[]
  readonly #maxBytes: number
  #isRead = false
  #deliveredBytes = 0
  #onChunk: ((chunk: Uint8Array, ack: () => void) => void) | undefined
  #onEnd: ((error: Error | undefined) => void) | undefined

  /** @param length declared length, or undefined for a chunked body */
  constructor(chunks: readonly Uint8Array[], length: number | undefined, maxBytes: number) {
    this.#chunks = [...chunks]
    this.isPresent = chunks.length > 0
    this.length = this.isPresent ? length : undefined
    this.#maxBytes = maxBytes
  }

  read(onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void): void {
    if (this.#isRead) throw new HttpError('HTTP_MISUSE', 'the body of a request was read twice')
    this.#isRead = true
    this.#onChunk = onChunk
    this.#onEnd = onEnd
    this.#next()
  }

  /** Ends reading with an error. */
  fail(error: Error): void {
    this.#chunks.length = 0
    this.#finish(error)
  }

  #next(): void {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) {
      this.#finish(undefined)
      return
    }
    this.#deliveredBytes += chunk.byteLength
    if (this.#deliveredBytes > this.#maxBytes) {
      this.fail(new HttpError('HTTP_BODY_TOO_LARGE', `the request body is longer than ${this.#maxBytes} bytes`))
      return
    }
    let isAcked = false
    this.#onChunk?.(chunk.slice(), () => {
      if (isAcked) return
      isAcked = true
      queueMicrotask(() => this.#next())
    })
  }

  #finish(error: Error | undefined): void {
    const onEnd = this.#onEnd
    this.#onEnd = undefined
    this.#onChunk = undefined
    onEnd?.(error)
  }
}
