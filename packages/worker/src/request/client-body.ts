import { type BodyAck, HttpError, noBody, RepeatableBody, type RequestBody } from '@svc/http'
import { PeekedBody } from './peeked-body.ts'

type OnChunk = (chunk: Uint8Array, ack: BodyAck) => void

/** A copy of a body, for logs. */
interface BodyRecord {
  readonly maxBytes: number
  chunks: Uint8Array[]
  /** Read so far. */
  bytes: number
}

const NOT_RECORDED: BodyRecord = { maxBytes: 0, chunks: [], bytes: 0 }

/** The body of a request as its handlers read it: up to the limit of their location, and again where its first reader failed. */
export class ClientBody implements RequestBody {
  #sent: RequestBody
  #body: RequestBody
  #maxBytes = Number.POSITIVE_INFINITY
  #record: BodyRecord | undefined
  #isBegun = false

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

  /** Keeps a copy of a body that is read, if it is no longer than this. */
  record(maxBytes: number): void {
    if (this.isPresent) this.#record ??= { maxBytes, chunks: [], bytes: 0 }
  }

  /** The body as far as it has been read, one character for each byte; "" if it is too long, or is not recorded. */
  get recorded(): string {
    const { maxBytes, chunks, bytes } = this.#record ?? NOT_RECORDED
    return bytes > maxBytes ? '' : Buffer.concat(chunks).toString('latin1')
  }

  #noting(record: BodyRecord, onChunk: OnChunk): OnChunk {
    record.chunks = []
    record.bytes = 0
    return (chunk, ack) => {
      record.bytes += chunk.byteLength
      if (record.bytes > record.maxBytes) record.chunks = []
      // A copy: the memory is reused.
      else record.chunks.push(Buffer.from(chunk))
      onChunk(chunk, ack)
    }
  }

  /** Reads of the body get nothing from now on. */
  drop(): void {
    this.#body = noBody
  }

  /** True if it can be read from its beginning: nothing has read it, or its first reader was not given too much of it. */
  get isRepeatable(): boolean {
    return this.#body instanceof RepeatableBody ? this.#body.isRepeatable : !this.#isBegun
  }

  /** Lets a body that has not been read yet be read again, if it is short, by the next handler if its first reader failed. */
  makeRepeatable(): void {
    if (this.isPresent && this.#body === this.#sent) this.#body = new RepeatableBody(this.#sent)
  }

  /** Ends with HTTP_BODY_TOO_LARGE at the first chunk past the limit; later chunks are discarded. */
  read(receive: OnChunk, onEnd: (error: Error | undefined) => void): void {
    this.#isBegun = true
    const onChunk = this.#record === undefined ? receive : this.#noting(this.#record, receive)
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
