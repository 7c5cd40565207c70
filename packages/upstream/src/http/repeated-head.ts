import type { AnswerHead } from './answer-head.ts'

/**
 * The head that a server sent last, on whatever connection. Servers send the same head again and again: it is then not parsed again,
 * and being the same object, whatever is made of it is found by it.
 */
export class RepeatedHead {
  #head: AnswerHead | undefined
  #bytes: Buffer = Buffer.alloc(0)

  /** Length of the head that `find` finds, with the empty line behind it. */
  get byteLength(): number {
    return this.#bytes.byteLength
  }

  /** The head, if these bytes begin with it. */
  find(bytes: Buffer): AnswerHead | undefined {
    const length = this.#bytes.byteLength
    if (this.#head === undefined || bytes.byteLength < length) return undefined
    return bytes.subarray(0, length).equals(this.#bytes) ? this.#head : undefined
  }

  /** @param bytes of the head, with the empty line; lent for the call */
  remember(head: AnswerHead, bytes: Buffer): void {
    this.#bytes = Buffer.from(bytes)
    this.#head = head
  }
}
