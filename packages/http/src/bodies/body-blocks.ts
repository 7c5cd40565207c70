/** Usual length of a block. */
export const BLOCK_BYTES = 64 * 1024
/** Most memory that waits to be used again. */
const MAX_FREE_BYTES = 2 * 1024 * 1024
/** A body, or a first piece of one, that is no longer than this gets memory of just its length. */
const SHORT_BYTES = 8 * 1024
/** A remainder of at most this many bytes gets no block either, and neither does one of unknown length behind so few. */
const MAX_PLAIN_BYTES = 32 * 1024

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
  give(block: Buffer | undefined): void {
    if (block !== undefined && this.#free.length * this.#blockBytes < MAX_FREE_BYTES) this.#free.push(block)
  }
}

/** Bytes of a body in memory: from its byte `start` on. */
export interface HeldPiece {
  readonly start: number
  readonly memory: Buffer
  readonly isBlock: boolean
  usedBytes: number
}

/** The bytes of one body that are in memory, in their order. */
export class HeldPieces {
  readonly #blocks: BodyBlocks
  #pieces: HeldPiece[] = []

  constructor(blocks: BodyBlocks) {
    this.#blocks = blocks
  }

  /**
   * Copies bytes behind the others.
   * @param start their place in the body
   * @param missingBytes of the body, these included; infinite: unknown
   */
  add(bytes: Uint8Array, start: number, missingBytes: number): void {
    for (let done = 0; done < bytes.byteLength; ) {
      const tail = this.#tailAt(start + done) ?? this.#grow(start + done, bytes.byteLength - done, missingBytes - done)
      const part = bytes.subarray(done, done + tail.memory.byteLength - tail.usedBytes)
      tail.memory.set(part, tail.usedBytes)
      tail.usedBytes += part.byteLength
      done += part.byteLength
    }
  }

  /** The first piece that has bytes from this place on. */
  from(position: number): HeldPiece | undefined {
    return this.#pieces.find(({ start, usedBytes }) => start + usedBytes > position)
  }

  /** The first piece behind so much memory. */
  beyond(memoryBytes: number): HeldPiece | undefined {
    let sum = 0
    for (const piece of this.#pieces) {
      if (sum >= memoryBytes) return piece
      sum += piece.memory.byteLength
    }
    return undefined
  }

  /** All of it, copied. */
  whole(): Buffer {
    return Buffer.concat(this.#pieces.map(({ memory, usedBytes }) => memory.subarray(0, usedBytes)))
  }

  /** Takes a piece out. Its block is the caller's. */
  remove(piece: HeldPiece): Buffer | undefined {
    this.#pieces = this.#pieces.filter((one) => one !== piece)
    return piece.isBlock ? piece.memory : undefined
  }

  /** Forgets all that ends up to here. */
  forget(position: number): void {
    for (const piece of this.#pieces) if (piece.start + piece.usedBytes <= position) this.#blocks.give(this.remove(piece))
  }

  #tailAt(end: number): HeldPiece | undefined {
    const tail = this.#pieces.at(-1)
    const hasRoom = tail !== undefined && tail.usedBytes < tail.memory.byteLength
    return hasRoom && tail.start + tail.usedBytes === end ? tail : undefined
  }

  #grow(start: number, wantedBytes: number, missingBytes: number): HeldPiece {
    const heldBytes = start - (this.#pieces[0]?.start ?? start)
    const mayGrow = heldBytes > 0 ? Math.min(missingBytes, Math.max(heldBytes, SHORT_BYTES)) : missingBytes
    const isShort = heldBytes === 0 && wantedBytes <= SHORT_BYTES
    const plainBytes = isShort ? wantedBytes : Math.max(wantedBytes, mayGrow)
    const isBlock = plainBytes > MAX_PLAIN_BYTES
    const piece = { start, isBlock, memory: isBlock ? this.#blocks.take() : Buffer.allocUnsafeSlow(plainBytes), usedBytes: 0 }
    this.#pieces.push(piece)
    return piece
  }
}
