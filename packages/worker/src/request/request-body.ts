import { type BodyAck, HttpError, type RequestBody } from '@svc/http'

/** How much of a body is kept so that it can be read again. */
const MAX_KEPT_BYTES = 64 * 1024

interface Reader {
  readonly onChunk: (chunk: Uint8Array, ack: BodyAck) => void
  readonly onEnd: (error: Error | undefined) => void
}

/**
 * A body that may be read again from its beginning while little of it has been read: where one upstream could not answer, another
 * is asked with the same body. Each reader takes the place of the one before, who gets nothing more.
 */
export class RepeatableBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  readonly #body: RequestBody
  #reader: Reader | undefined
  /** All that was read; undefined: it became too much. */
  #kept: Uint8Array[] | undefined = []
  #keptBytes = 0
  /** Of chunks that the reader has not dealt with. */
  readonly #acks = new Set<BodyAck>()
  #end: { readonly error: Error | undefined } | undefined

  constructor(body: RequestBody) {
    this.length = body.length
    this.#body = body
  }

  read(onChunk: Reader['onChunk'], onEnd: Reader['onEnd']): void {
    const isFirst = this.#reader === undefined
    if (!isFirst && this.#kept === undefined) {
      throw new HttpError('HTTP_MISUSE', 'too much of the body of a request was read to read it again')
    }
    const reader = { onChunk, onEnd }
    this.#reader = reader
    if (isFirst) {
      this.#body.read(
        (chunk, ack) => this.#received(chunk, ack),
        (error) => this.#ended(error),
      )
      return
    }
    for (const chunk of [...(this.#kept ?? [])]) if (this.#reader === reader) onChunk(chunk, () => undefined)
    if (this.#reader !== reader) return
    if (this.#end !== undefined) onEnd(this.#end.error)
    // More may come: the reader before does not say so any more.
    for (const ack of [...this.#acks]) this.#release(ack, false)
  }

  #received(chunk: Uint8Array, ack: BodyAck): void {
    const isKept = this.#keep(chunk)
    this.#acks.add(ack)
    this.#reader?.onChunk(chunk, (isUnused) => this.#release(ack, isUnused === true && !isKept))
  }

  #ended(error: Error | undefined): void {
    this.#end = { error }
    this.#reader?.onEnd(error)
  }

  /** Whether it may be read again. */
  #keep(chunk: Uint8Array): boolean {
    if (this.#kept === undefined) return false
    this.#keptBytes += chunk.byteLength
    if (this.#keptBytes > MAX_KEPT_BYTES) this.#kept = undefined
    else this.#kept.push(chunk)
    return this.#kept !== undefined
  }

  #release(ack: BodyAck, isUnused: boolean): void {
    if (this.#acks.delete(ack)) ack(isUnused)
  }
}

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

  /** Ends with HTTP_BODY_TOO_LARGE at the first chunk past the limit; what still comes is thrown away. */
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
