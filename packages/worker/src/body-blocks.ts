/** Length of one block. */
export const BLOCK_BYTES = 64 * 1024
/** Most blocks that wait to be used again. */
const MAX_FREE = 32

/**
 * Memory for bodies of requests and answers, in blocks that are used again. Memory that is new for every piece would be garbage as soon as it is
 * sent, and the collector lets some 30 MB of that come together.
 */
export class BodyBlocks {
  readonly #free: Buffer[] = []

  /** A block; what is in it means nothing. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  /** Takes a block back that nobody looks at any more. */
  give(block: Buffer): void {
    if (this.#free.length < MAX_FREE) this.#free.push(block)
  }
}
