import { type BodyAck, HttpError, type RequestBody } from '@svc/http'

/** A request body with a limit of its own, below that of the engine. */
export class LimitedBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  readonly #body: RequestBody
  readonly #maxBytes: number

  constructor(body: RequestBody, maxBytes: number) {
    this.length = body.length
    this.#body = body
    this.#maxBytes = maxBytes
  }

  /** Ends with HTTP_BODY_TOO_LARGE at the first chunk past the limit; later chunks are discarded. */
  read(onChunk: (chunk: Uint8Array, ack: BodyAck) => void, onEnd: (error: Error | undefined) => void): void {
    let received = 0
    let isOver = false
    this.#body.read(
      (chunk, ack) => {
        received += chunk.byteLength
        if (received <= this.#maxBytes) {
          onChunk(chunk, ack)
          return
        }
        ack()
        if (isOver) return
        isOver = true
        onEnd(new HttpError('HTTP_BODY_TOO_LARGE', `the request body is longer than ${this.#maxBytes} bytes`))
      },
      (error) => {
        if (!isOver) onEnd(error)
      },
    )
  }
}
