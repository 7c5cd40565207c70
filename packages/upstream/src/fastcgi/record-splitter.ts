import { RECORD_HEAD_BYTES } from './record.ts'

const VERSION = 1

/** Called for records as they come. Bytes are lent for the call. */
export interface RecordEvents {
  /** True if more events are wanted. */
  readonly takesMore: boolean
  /** A piece of the content of a record; a long one comes in several. */
  content(type: number, requestId: number, bytes: Buffer): void
  /** The record has ended, with its padding. `length` of its content. */
  recordEnded(type: number, requestId: number, length: number): void
}

/** Takes bytes apart into records, however they are cut. */
export class RecordSplitter {
  readonly #events: RecordEvents
  /** A head that has not come to its end: seldom there is one. */
  #held: Buffer | undefined
  #heldBytes = 0
  #isInRecord = false
  #type = 0
  #requestId = 0
  #length = 0
  #contentLeft = 0
  #paddingLeft = 0

  constructor(events: RecordEvents) {
    this.#events = events
  }

  /**
   * Takes bytes that came, as long as they are wanted.
   * @returns how many bytes were not taken, or undefined when they are no records of FastCGI 1
   */
  push(bytes: Buffer): number | undefined {
    let at = 0
    while (at < bytes.byteLength && this.#events.takesMore) {
      if (!this.#isInRecord) {
        if (this.#heldBytes === 0 && bytes[at] !== VERSION) return undefined
        at += this.#takeHead(bytes, at)
      } else if (this.#contentLeft > 0) {
        const piece = bytes.subarray(at, at + this.#contentLeft)
        at += piece.byteLength
        this.#contentLeft -= piece.byteLength
        this.#events.content(this.#type, this.#requestId, piece)
      } else {
        const skipped = Math.min(this.#paddingLeft, bytes.byteLength - at)
        at += skipped
        this.#paddingLeft -= skipped
      }
      if (this.#isInRecord && this.#contentLeft === 0 && this.#paddingLeft === 0) {
        this.#isInRecord = false
        this.#events.recordEnded(this.#type, this.#requestId, this.#length)
      }
    }
    return bytes.byteLength - at
  }

  /** How many bytes of a head were taken. Most of the time it lies there as a whole. */
  #takeHead(bytes: Buffer, at: number): number {
    if (this.#heldBytes === 0 && bytes.byteLength - at >= RECORD_HEAD_BYTES) {
      this.#begin(bytes, at)
      return RECORD_HEAD_BYTES
    }
    this.#held ??= Buffer.allocUnsafe(RECORD_HEAD_BYTES)
    const taken = bytes.copy(this.#held, this.#heldBytes, at, at + RECORD_HEAD_BYTES - this.#heldBytes)
    this.#heldBytes += taken
    if (this.#heldBytes === RECORD_HEAD_BYTES) {
      this.#heldBytes = 0
      this.#begin(this.#held, 0)
    }
    return taken
  }

  #begin(head: Buffer, at: number): void {
    this.#isInRecord = true
    this.#type = head[at + 1] ?? 0
    this.#requestId = head.readUInt16BE(at + 2)
    this.#length = head.readUInt16BE(at + 4)
    this.#contentLeft = this.#length
    this.#paddingLeft = head[at + 6] ?? 0
  }
}
