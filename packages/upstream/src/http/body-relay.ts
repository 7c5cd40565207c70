import { asError } from '@svc/core'
import type { BodyAck, RequestBody } from '@svc/http'
import { UpstreamError } from '../errors/errors.ts'

/** How much of a body is kept so that it can be sent again. */
const MAX_KEPT_BYTES = 64 * 1024

/** Where a body is sent. */
export interface BodyTarget {
  /** `ack` lets more of the body come, and says when nobody looks at the bytes any more. */
  bodyChunk(bytes: Uint8Array, ack: BodyAck): void
  bodyEnded(): void
  bodyFailed(error: Error): void
}

type Piece = { readonly bytes: Uint8Array; readonly ack: BodyAck }

/** Reads the body of a request once and sends it to one server after another, as long as it is short. */
export class BodyRelay {
  readonly #body: RequestBody
  /** What was read so far; undefined: it became too long. */
  #kept: Uint8Array[] | undefined = []
  #keptBytes = 0
  /** Came while nobody took it. */
  #waiting: Piece[] = []
  #target: BodyTarget | undefined
  #isRead = false
  #isFlushing = false
  #end: 'open' | 'complete' | Error = 'open'

  constructor(body: RequestBody) {
    this.#body = body
  }

  /** Whether all that was read can be sent again. */
  get isReplayable(): boolean {
    return this.#kept !== undefined
  }

  /** Declared length, if there is one. */
  get length(): number | undefined {
    return this.#body.length
  }

  /** Whether the last byte has been handed on. */
  get isComplete(): boolean {
    return this.#end === 'complete' && this.#waiting.length === 0
  }

  /** Sends the body from its beginning on. Only while it is replayable. */
  attach(target: BodyTarget): void {
    this.#target = target
    const again = this.#kept ?? []
    if (!this.#isRead) {
      this.#isRead = true
      this.#read()
      return
    }
    this.#waiting = [...again.map((bytes) => ({ bytes, ack: () => undefined })), ...this.#waiting]
    this.#kept = []
    this.#keptBytes = 0
    this.#flush()
  }

  /** The target takes no more. What comes waits for another. */
  detach(): void {
    this.#target = undefined
  }

  /** Another upstream may have had the body: this one makes the page of an error, and cannot be asked with it. */
  #read(): void {
    try {
      this.#body.read(
        (bytes, ack) => this.#received(bytes, ack),
        (error) => this.#ended(error),
      )
    } catch (error) {
      const message = 'the body of the request has been sent to another upstream'
      this.#ended(new UpstreamError('UPSTREAM_UNREACHABLE', message, { cause: asError(error) }))
    }
  }

  #received(bytes: Uint8Array, ack: BodyAck): void {
    this.#waiting.push({ bytes, ack })
    this.#flush()
  }

  /** Sends what waits, in its order also where an acknowledgement makes more come at once. */
  #flush(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    while (this.#target !== undefined) {
      const piece = this.#waiting.shift()
      if (piece === undefined) break
      const { bytes, ack } = piece
      this.#target.bodyChunk(bytes, this.#keep(bytes) ? () => ack() : ack)
    }
    this.#isFlushing = false
    if (this.#waiting.length === 0) this.#tellEnd()
  }

  /** Whether the bytes may be sent again. */
  #keep(bytes: Uint8Array): boolean {
    if (this.#kept === undefined) return false
    this.#keptBytes += bytes.byteLength
    if (this.#keptBytes > MAX_KEPT_BYTES) this.#kept = undefined
    else this.#kept.push(bytes)
    return this.#kept !== undefined
  }

  #ended(error: Error | undefined): void {
    this.#end = error ?? 'complete'
    this.#flush()
  }

  #tellEnd(): void {
    if (this.#end === 'complete') this.#target?.bodyEnded()
    else if (this.#end !== 'open') this.#target?.bodyFailed(this.#end)
  }
}
