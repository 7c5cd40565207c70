import { asError } from '@svc/core'
import { HttpError } from '../errors/errors.ts'
import type { BodyAck, RequestBody } from '../exchange/http-exchange.ts'

/** How much of a body is kept so that it can be read again. */
const MAX_KEPT_BYTES = 64 * 1024

interface Reader {
  readonly onChunk: (chunk: Uint8Array, ack: BodyAck) => void
  readonly onEnd: (error: Error | undefined) => void
}

interface Piece {
  readonly bytes: Uint8Array
  readonly ack: BodyAck
}

/**
 * A body that may be read again from its beginning while little of it has been read: where one upstream could not answer, the same
 * body is sent to another. Each reader takes the place of the one before, who gets nothing more.
 */
export class RepeatableBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  readonly #body: RequestBody
  #reader: Reader | undefined
  #isBegun = false
  #isHandingOn = false
  /** All that readers got; undefined: it became too much. */
  #kept: Uint8Array[] | undefined = []
  #keptBytes = 0
  /** Pieces for the present reader, or the next one. */
  #waiting: Piece[] = []
  /** Of pieces that a reader has not dealt with. */
  readonly #acks = new Set<BodyAck>()
  #end: { readonly error: Error | undefined } | undefined

  constructor(body: RequestBody) {
    this.length = body.length
    this.#body = body
  }

  /** True if it can be read from its beginning now. */
  get isRepeatable(): boolean {
    return this.#kept !== undefined
  }

  /** @throws HTTP_MISUSE when it is not repeatable any more */
  read(onChunk: Reader['onChunk'], onEnd: Reader['onEnd']): void {
    const kept = this.#kept
    if (kept === undefined) throw new HttpError('HTTP_MISUSE', 'too much of the body of a request was read to read it again')
    this.#reader = { onChunk, onEnd }
    if (!this.#isBegun) {
      this.#isBegun = true
      this.#begin()
      return
    }
    this.#waiting = [...kept.map((bytes) => ({ bytes, ack: nothing })), ...this.#waiting]
    this.#kept = []
    this.#keptBytes = 0
    this.#handOn()
    // More may come: the reader before does not say so any more.
    for (const ack of [...this.#acks]) this.#release(ack, false)
  }

  /** The reader gets nothing more. Chunks that come wait for another. */
  detach(): void {
    this.#reader = undefined
  }

  /** The body may have been read elsewhere, and too much of it. */
  #begin(): void {
    try {
      this.#body.read(
        (bytes, ack) => {
          this.#waiting.push({ bytes, ack })
          this.#handOn()
        },
        (error) => this.#ended(error),
      )
    } catch (error) {
      this.#ended(asError(error))
    }
  }

  #ended(error: Error | undefined): void {
    this.#end = { error }
    this.#handOn()
  }

  /** Hands on what waits, in its order also where an acknowledgement makes more come at once, and then the end. */
  #handOn(): void {
    if (this.#isHandingOn) return
    this.#isHandingOn = true
    try {
      while (this.#reader !== undefined) {
        const piece = this.#waiting.shift()
        if (piece === undefined) break
        const { bytes, ack } = piece
        const mayRepeat = this.#keep(bytes)
        this.#acks.add(ack)
        this.#reader.onChunk(bytes, (isUnused) => this.#release(ack, isUnused === true && !mayRepeat))
      }
    } finally {
      this.#isHandingOn = false
    }
    const reader = this.#reader
    if (reader === undefined || this.#end === undefined || this.#waiting.length > 0) return
    this.#reader = undefined
    reader.onEnd(this.#end.error)
  }

  /** True if the body may be read again, so that the chunk is still needed. */
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

function nothing(): void {
  // The chunk was acknowledged when it was read first.
}
