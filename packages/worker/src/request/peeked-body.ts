import { asError } from '@svc/core'
import type { BodyAck, RequestBody } from '@svc/http'

interface Piece {
  readonly bytes: Uint8Array
  readonly ack: BodyAck
}

/** A body whose beginning was looked at before its reader reads it whole. */
export class PeekedBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  /** Pieces that the reader has not got. */
  #pieces: Piece[] = []
  #end: { readonly error: Error | undefined } | undefined
  #reader:
    | { readonly onChunk: (bytes: Uint8Array, ack: BodyAck) => void; readonly onEnd: (error: Error | undefined) => void }
    | undefined
  #isHandingOn = false

  /** Reads on until `maxBytes` are there, or the end. `onSeen` is called once, with at least so many bytes of a longer body. */
  constructor(body: RequestBody, maxBytes: number, onSeen: (pieces: readonly Uint8Array[]) => void) {
    this.length = body.length
    let seenBytes = 0
    let isSeen = false
    const seen = () => {
      if (isSeen) return
      isSeen = true
      onSeen(this.#pieces.map(({ bytes }) => bytes))
    }
    const take = (bytes: Uint8Array, ack: BodyAck) => {
      seenBytes += bytes.byteLength
      const isPeeking = !isSeen && seenBytes < maxBytes
      this.#pieces.push({ bytes, ack: isPeeking ? nothing : ack })
      if (isPeeking) ack()
      else if (isSeen) this.#handOn()
      else seen()
    }
    const ended = (error: Error | undefined) => {
      this.#end = { error }
      seen()
      this.#handOn()
    }
    try {
      body.read(take, ended)
    } catch (error) {
      ended(asError(error))
    }
  }

  read(onChunk: (bytes: Uint8Array, ack: BodyAck) => void, onEnd: (error: Error | undefined) => void): void {
    this.#reader = { onChunk, onEnd }
    this.#handOn()
  }

  /** In order, also where an acknowledgement makes more come at once. */
  #handOn(): void {
    if (this.#isHandingOn || this.#reader === undefined) return
    this.#isHandingOn = true
    const { onChunk, onEnd } = this.#reader
    try {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) onChunk(piece.bytes, piece.ack)
    } finally {
      this.#isHandingOn = false
    }
    if (this.#end === undefined) return
    this.#reader = undefined
    onEnd(this.#end.error)
  }
}

function nothing(): void {
  // The piece was acknowledged when it was looked at.
}
