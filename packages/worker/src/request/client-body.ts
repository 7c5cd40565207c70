import { type BodyAck, HttpError, noBody, RepeatableBody, type RequestBody } from '@svc/http'
import { PeekedBody } from './peeked-body.ts'

/** The body of a request as its handlers read it: up to the limit of their location, and again where its first reader failed. */
export class ClientBody implements RequestBody {
  #sent: RequestBody
  #body: RequestBody
  #maxBytes = Number.POSITIVE_INFINITY

  constructor(sent: RequestBody) {
    this.#sent = sent
    this.#body = sent
  }

  get isPresent(): boolean {
    return this.#body.isPresent
  }

  get length(): number | undefined {
    return this.#body.length
  }

  /** Limits the body, below the limit of the engine. False: it is declared to be longer. */
  limit(maxBytes: number): boolean {
    if (!this.#sent.isPresent) return true
    this.#maxBytes = maxBytes
    return (this.#sent.length ?? 0) <= maxBytes
  }

  /**
   * Reads the beginning of a body that has not been read yet: `maxBytes` of it or a little more, or all of a shorter one. The next reader
   * gets it whole. `onSeen` is called once, perhaps at once.
   */
  peek(maxBytes: number, onSeen: (pieces: readonly Uint8Array[]) => void): void {
    this.#sent = new PeekedBody(this.#sent, maxBytes, onSeen)
    this.#body = this.#sent
  }

  /** Reads of the body get nothing from now on. */
  drop(): void {
    this.#body = noBody
  }

  /** Lets a body that has not been read yet be read again, if it is short, by the next handler if its first reader failed. */
  makeRepeatable(): void {
    if (this.isPresent && this.#body === this.#sent) this.#body = new RepeatableBody(this.#sent)
  }

  /** Ends with HTTP_BODY_TOO_LARGE at the first chunk past the limit; later chunks are discarded. */
  read(onChunk: (chunk: Uint8Array, ack: BodyAck) => void, onEnd: (error: Error | undefined) => void): void {
    const maxBytes = this.#maxBytes
    if (maxBytes === Number.POSITIVE_INFINITY) {
      this.#body.read(onChunk, onEnd)
      return
    }
    let received = 0
    let isOver = false
    this.#body.read(
      (chunk, ack) => {
        received += chunk.byteLength
        if (received <= maxBytes) {
          onChunk(chunk, ack)
          return
        }
        ack()
        if (isOver) return
        isOver = true
        onEnd(new HttpError('HTTP_BODY_TOO_LARGE', `the request body is longer than ${maxBytes} bytes`))
      },
      (error) => {
        if (!isOver) onEnd(error)
      },
    )
  }
}
