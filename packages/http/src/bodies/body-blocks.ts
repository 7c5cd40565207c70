/** Usual length of a block. */
export const BLOCK_BYTES = 64 * 1024
/** Most memory that waits to be used again. */
const MAX_FREE_BYTES = 2 * 1024 * 1024

/**
 * Memory for bodies of requests and answers, in blocks that are used again. Memory that is new for every piece would be garbage as soon as it is
 * sent, and the collector lets some 30 MB of that come together.
 */
export class BodyBlocks {
  readonly #free: Buffer[] = []
  readonly #blockBytes: number

  constructor(blockBytes: number = BLOCK_BYTES) {
    this.#blockBytes = blockBytes
  }

  /** A block; what is in it means nothing. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#blockBytes)
  }

  /** Takes back a block that is no longer used. */
  give(block: Buffer): void {
    if (this.#free.length * this.#blockBytes < MAX_FREE_BYTES) this.#free.push(block)
  }
}
