import type { BodyBlocks } from '@svc/http'
import { SpoolFile } from '@svc/http'

/** Most memory for the bytes of one body that wait. */
const MAX_MEMORY_BYTES = 1024 * 1024
/** A body, or a first piece of one, that is no longer than this gets memory of just its length. */
const SHORT_BYTES = 8 * 1024
/** What is still to come and no longer than this gets no block either. */
const MAX_PLAIN_BYTES = 32 * 1024
/** Pieces that are kept ready in memory while there are more in the file. */
const READY_PIECES = 2

/** Where the bodies of an engine's requests wait. */
export interface BodyStore {
  readonly blocks: BodyBlocks
  /** Directory for what is too much for memory; made when it is needed. */
  dir(): string
}

/** Told what a backlog does by itself. */
interface BacklogEvents {
  /** There is more to take. */
  ready(): void
  /** What is in the file cannot be read. */
  failed(error: Error): void
}

/** Bytes that come out of a backlog. */
export interface BodyPiece {
  readonly bytes: Uint8Array
  /** To be given back once nobody looks at the bytes any more. */
  readonly block: Buffer | undefined
}

interface HeldPiece {
  readonly memory: Buffer
  readonly isBlock: boolean
  usedBytes: number
}

/** Bytes of one body that nobody has taken yet, in their order: in memory as long as they are few, else in a file too. */
export class BodyBacklog {
  readonly #store: BodyStore
  readonly #events: BacklogEvents
  #pieces: HeldPiece[] = []
  #memoryBytes = 0
  #file: SpoolFile | undefined

  constructor(store: BodyStore, events: BacklogEvents) {
    this.#store = store
    this.#events = events
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0 && !this.#hasFileBytes
  }

  /**
   * Takes a copy of bytes.
   * @param missingBytes of the body, these included; infinite: nobody knows
   * @throws what the file system says
   */
  add(bytes: Uint8Array, missingBytes: number): void {
    const kept = this.#hasFileBytes ? 0 : this.#keep(bytes, missingBytes)
    if (kept === bytes.byteLength) return
    this.#file ??= SpoolFile.open(this.#store.dir())
    this.#file.append(bytes.subarray(kept))
    this.#readAhead()
  }

  /** The next bytes. Undefined: there are none, or they are being read from the file. */
  take(): BodyPiece | undefined {
    const piece = this.#pieces.shift()
    if (piece === undefined) return undefined
    this.#memoryBytes -= piece.memory.byteLength
    this.#readAhead()
    const bytes = piece.memory.subarray(0, piece.usedBytes)
    return { bytes, block: piece.isBlock ? piece.memory : undefined }
  }

  /** Forgets everything, for good. */
  close(): void {
    for (const { memory, isBlock } of this.#pieces) if (isBlock) this.#store.blocks.give(memory)
    this.#pieces = []
    this.#memoryBytes = 0
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
    return kept
  }

  #tailWithRoom(): HeldPiece | undefined {
    const tail = this.#pieces.at(-1)
    return tail !== undefined && tail.usedBytes < tail.memory.byteLength ? tail : undefined
  }

  #grow(wantedBytes: number, missingBytes: number): HeldPiece | undefined {
    if (this.#memoryBytes >= MAX_MEMORY_BYTES) return undefined
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
    const file = this.#file
    if (file === undefined || file.isReading || file.bytes === 0 || this.#pieces.length >= READY_PIECES) return
    const memory = this.#store.blocks.take()
    file.read(memory, (outcome) => {
      if (typeof outcome === 'number') {
        this.#push({ memory, isBlock: true, usedBytes: outcome })
        this.#readAhead()
        this.#events.ready()
      } else {
        this.#events.failed(outcome)
      }
    })
  }
}
