import { type BodyAck, HttpError } from '@svc/http'

/** See `RequestBody.read`. */
export type ChunkListener = (chunk: Uint8Array, ack: BodyAck) => void
/** See `RequestBody.read`. */
export type EndListener = (error: Error | undefined) => void

/** The reader of a request body, for every engine: there is one, and it is notified of the end once. */
export class BodyReader {
  #isTaken = false
  #onChunk: ChunkListener | undefined
  #onEnd: EndListener | undefined

  /** True if there is a reader that has not been notified of the end. */
  get isReading(): boolean {
    return this.#onChunk !== undefined
  }

  /** @throws HTTP_MISUSE the second time */
  begin(onChunk: ChunkListener, onEnd: EndListener): void {
    if (this.#isTaken) throw new HttpError('HTTP_MISUSE', 'the request body was read twice')
    this.#isTaken = true
    this.#onChunk = onChunk
    this.#onEnd = onEnd
  }

  /** Hands a chunk on. @param onAck called at most once */
  hand(chunk: Uint8Array, onAck: BodyAck): void {
    let isAcked = false
    this.#onChunk?.(chunk, (isUnused) => {
      if (isAcked) return
      isAcked = true
      onAck(isUnused)
    })
  }

  /** Reports the end, unless that has been done. */
  end(error: Error | undefined): void {
    const onEnd = this.#onEnd
    this.#onEnd = undefined
    this.#onChunk = undefined
    onEnd?.(error)
  }
}

/** Why a body is not read on. */
export function bodyTooLarge(maxBytes: number): HttpError {
  return new HttpError('HTTP_BODY_TOO_LARGE', `the request body is longer than ${maxBytes} bytes`)
}
