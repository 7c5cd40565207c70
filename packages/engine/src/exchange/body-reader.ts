import { type BodyAck, HttpError, type RequestBody } from '@svc/http'

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

/** The parts of an exchange that its body uses. */
export interface BodyOwner {
  /** The body cannot be read to its end: its reader knows of it and may respond; otherwise this is the response. */
  bodyRefused(status: number, code: string): void
  /** The last byte has come. */
  bodyEnded(): void
  /** A listener threw. */
  problem(error: unknown): void
}

/** How long a body is. */
export interface BodySize {
  /** As declared; undefined: unknown. */
  readonly length: number | undefined
  readonly maxBytes: number
}

/** The body of a request, whatever the engine. */
export abstract class ReceivedBody<Owner extends BodyOwner = BodyOwner> implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  protected readonly maxBytes: number
  protected readonly owner: Owner
  protected readonly reader = new BodyReader()
  protected isPaused = false
  /** Later bytes are read and discarded. */
  protected isDiscarding = false
  protected failure: Error | undefined
  protected unackedBytes = 0
  /** When the last chunk came, or could come again, in ms of the monotonic clock. */
  protected lastChunkAt = 0
  receivedBytes = 0

  constructor(owner: Owner, { length, maxBytes }: BodySize) {
    this.owner = owner
    this.length = length
    this.maxBytes = maxBytes
  }

  /** True if bytes are still to come. */
  abstract readonly isOpen: boolean

  abstract read(onChunk: ChunkListener, onEnd: EndListener): void

  /** Ends reading with an error; later bytes are discarded. */
  abstract fail(error: Error): void

  /** True if the sender, not the receiver, has kept the body from going on for `limitMs`. `sinceMs`: not looked at before. */
  hasStalled(nowMs: number, sinceMs: number, limitMs: number): boolean {
    return this.isOpen && !this.isPaused && nowMs - Math.max(this.lastChunkAt, sinceMs) > limitMs
  }
}

/** Why a body is not read on. */
export function bodyTooLarge(maxBytes: number): HttpError {
  return new HttpError('HTTP_BODY_TOO_LARGE', `the request body is longer than ${maxBytes} bytes`)
}
