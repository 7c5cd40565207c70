import type { BodyBlocks } from './body-blocks.ts'
import { SpoolFile } from './spool-file.ts'

/** A body, or a first piece of one, that is no longer than this gets memory of just its length. */
const SHORT_BYTES = 8 * 1024
/** A remainder of at most this many bytes gets no block either. */
const MAX_PLAIN_BYTES = 32 * 1024

/** Memory and directory for bodies that wait. */
export interface BodyStore {
  readonly blocks: BodyBlocks
  /** Directory for what is too much for memory; made when it is needed. */
  dir(): string
}

/** How much memory a body takes while it waits. */
export interface QueueMemory {
  /** Past that the file takes the bytes. */
  readonly maxBytes: number
  /** Pieces that are read from the file before they are taken. */
  readonly readyPieces: number
}

/** For bodies that are taken soon. */
const MEMORY_FIRST: QueueMemory = { maxBytes: 1024 * 1024, readyPieces: 2 }
/** For bodies whose receiver is slow: nothing of them is in memory while it takes nothing. */
export const FILE_ONLY: QueueMemory = { maxBytes: 0, readyPieces: 0 }

/** Told what a queue does by itself. */
interface QueueEvents {
  /** There is more to take. */
  ready(): void
  /** The bytes in the file cannot be read. */
  failed(error: Error): void
}

/** Bytes that come out of a queue. */
export interface QueuedPiece {
  readonly bytes: Uint8Array
  /** Returned to the pool once the bytes have been read. */
  readonly block: Buffer | undefined
}

interface HeldPiece {
  readonly memory: Buffer
  readonly isBlock: boolean
  usedBytes: number
}

/**
 * The bytes of one body between its sender and its one receiver, in their order: in memory as long as they are few, else in a file too.
 * Adding blocks until the file has the bytes, so that memory stays bounded however much comes in one turn.
 */
export class BodyQueue {
  readonly #store: BodyStore
  readonly #events: QueueEvents
  readonly #memory: QueueMemory
  #pieces: HeldPiece[] = []
  #memoryBytes = 0
  #usedBytes = 0
  #file: SpoolFile | undefined

  constructor(store: BodyStore, events: QueueEvents, memory: QueueMemory = MEMORY_FIRST) {
    this.#store = store
    this.#events = events
    this.#memory = memory
  }

  /** Bytes that wait. */
  get bytes(): number {
    return this.#usedBytes + (this.#file?.bytes ?? 0)
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0 && !this.#hasFileBytes
  }

  /**
   * Takes a copy of bytes.
   * @param missingBytes of the body, these included; infinite: unknown
   * @throws what the file system says; `bytes` tells how much was taken
   */
  add(bytes: Uint8Array, missingBytes: number): void {
    const kept = this.#hasFileBytes ? 0 : this.#keep(bytes, missingBytes)
    if (kept === bytes.byteLength) return
    this.#file ??= SpoolFile.open(this.#store.dir())
    this.#file.append(bytes.subarray(kept))
    this.#readAhead()
  }

  /** The next bytes. Undefined: there are none, or they are being read from the file. */
  take(): QueuedPiece | undefined {
    const piece = this.#pieces.shift()
    if (piece === undefined) {
      this.#read()
      return undefined
    }
    this.#memoryBytes -= piece.memory.byteLength
    this.#usedBytes -= piece.usedBytes
    this.#readAhead()
    const bytes = piece.memory.subarray(0, piece.usedBytes)
    return { bytes, block: piece.isBlock ? piece.memory : undefined }
  }

  /** Forgets everything, for good. */
  close(): void {
    for (const { memory, isBlock } of this.#pieces) if (isBlock) this.#store.blocks.give(memory)
    this.#pieces = []
    this.#memoryBytes = 0
    this.#usedBytes = 0
    this.#file?.close()
    this.#file = undefined
  }

  get #hasFileBytes(): boolean {
    return this.#file !== undefined && (this.#file.bytes > 0 || this.#file.isReading)
  }

  /** Copies into memory what may be there. Returns how many bytes that are. */
  #keep(bytes: Uint8Array, missingBytes: number): number {
    let kept = 0
    while (kept < bytes.byteLength) {
      const tail = this.#tailWithRoom() ?? this.#grow(bytes.byteLength - kept, missingBytes - kept)
      if (tail === undefined) break
      const part = bytes.subarray(kept, kept + tail.memory.byteLength - tail.usedBytes)
      tail.memory.set(part, tail.usedBytes)
      tail.usedBytes += part.byteLength
      kept += part.byteLength
    }
    this.#usedBytes += kept
    return kept
  }

  #tailWithRoom(): HeldPiece | undefined {
    const tail = this.#pieces.at(-1)
    return tail !== undefined && tail.usedBytes < tail.memory.byteLength ? tail : undefined
  }

  #grow(wantedBytes: number, missingBytes: number): HeldPiece | undefined {
    if (this.#memoryBytes >= this.#memory.maxBytes) return undefined
    const isFirst = this.#pieces.length === 0
    const plainBytes = isFirst && wantedBytes <= SHORT_BYTES ? wantedBytes : missingBytes
    const isBlock = plainBytes > MAX_PLAIN_BYTES
    const memory = isBlock ? this.#store.blocks.take() : Buffer.allocUnsafeSlow(plainBytes)
    return this.#push({ memory, isBlock, usedBytes: 0 })
  }

  #push(piece: HeldPiece): HeldPiece {
    this.#pieces.push(piece)
    this.#memoryBytes += piece.memory.byteLength
    return piece
  }

  #readAhead(): void {
    if (this.#pieces.length < this.#memory.readyPieces) this.#read()
  }

  #read(): void {
    const file = this.#file
    if (file === undefined || file.isReading || file.bytes === 0) return
    const memory = this.#store.blocks.take()
    file.read(memory, (outcome) => {
      if (typeof outcome === 'number') {
        this.#usedBytes += outcome
        this.#push({ memory, isBlock: true, usedBytes: outcome })
        this.#readAhead()
        this.#events.ready()
      } else {
        this.#events.failed(outcome)
      }
    })
  }
}
