import type { AnswerHead } from './answer-head.ts'

/**
 * The head that a server sent last, on whatever connection. Servers send the same head again and again: it is then not parsed again,
 * and being the same object, whatever is made of it is found by it.
 */
export class RepeatedHead {
  #head: AnswerHead | undefined
  #bytes: Buffer = Buffer.alloc(0)
  /** The bytes of the last look, and their parts: reads of the same length into the same memory are the same object. */
  #seen: Buffer | undefined
  #front = this.#bytes
  #rest = this.#bytes

  /** Behind the head that `find` has just found, and the empty line. */
  get rest(): Buffer {
    return this.#rest
  }

  /** The head, if these bytes begin with it. */
  find(bytes: Buffer): AnswerHead | undefined {
    const length = this.#bytes.byteLength
    if (this.#head === undefined || bytes.byteLength < length) return undefined
    if (bytes !== this.#seen) {
      this.#seen = bytes
      this.#front = bytes.subarray(0, length)
      this.#rest = bytes.subarray(length)
    }
    return this.#front.equals(this.#bytes) ? this.#head : undefined
  }

  /** @param bytes of the head, with the empty line; lent for the call */
  remember(head: AnswerHead, bytes: Buffer): void {
    this.#bytes = Buffer.from(bytes)
    this.#head = head
    this.#seen = undefined
  }
}
