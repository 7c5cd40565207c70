import { RECORD_HEAD_BYTES } from './record.ts'

const VERSION = 1

/** Told of records as they come. Bytes are lent for the call. */
export interface RecordEvents {
  /** A piece of the content of a record; a long one comes in several. */
  content(type: number, requestId: number, bytes: Buffer): void
  /** The record has ended, with its padding. `length` of its content. */
  recordEnded(type: number, requestId: number, length: number): void
}

/** Takes bytes apart into records, however they are cut. */
export class RecordSplitter {
  readonly #events: RecordEvents
  readonly #head = Buffer.alloc(RECORD_HEAD_BYTES)
  #headBytes = 0
  #type = 0
  #requestId = 0
  #length = 0
  #contentLeft = 0
  #paddingLeft = 0

  constructor(events: RecordEvents) {
    this.#events = events
  }

  /**
   * Takes bytes that came, as long as `isWanted` says so.
   * @returns how many bytes were not taken, or undefined when they are no records of FastCGI 1
   */
  push(bytes: Buffer, isWanted: () => boolean): number | undefined {
    let at = 0
    while (at < bytes.byteLength && isWanted()) {
      if (this.#headBytes < RECORD_HEAD_BYTES) {
        at += this.#takeHead(bytes, at)
        if (this.#headBytes > 0 && this.#head[0] !== VERSION) return undefined
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
      this.#endIfComplete()
    }
    return bytes.byteLength - at
  }

  #takeHead(bytes: Buffer, at: number): number {
    const taken = bytes.copy(this.#head, this.#headBytes, at, at + RECORD_HEAD_BYTES - this.#headBytes)
    this.#headBytes += taken
    if (this.#headBytes < RECORD_HEAD_BYTES) return taken
    this.#type = this.#head[1] ?? 0
    this.#requestId = this.#head.readUInt16BE(2)
    this.#length = this.#head.readUInt16BE(4)
    this.#contentLeft = this.#length
    this.#paddingLeft = this.#head[6] ?? 0
    return taken
  }

  #endIfComplete(): void {
    if (this.#headBytes < RECORD_HEAD_BYTES || this.#contentLeft > 0 || this.#paddingLeft > 0) return
    this.#headBytes = 0
    this.#events.recordEnded(this.#type, this.#requestId, this.#length)
  }
}
