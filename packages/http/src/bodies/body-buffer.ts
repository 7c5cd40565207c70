import { asError } from '@svc/core'
import { HttpError } from '../errors/errors.ts'
import { type BodyBlocks, type HeldPiece, HeldPieces } from './body-blocks.ts'
import { type BodyFile, FilePart } from './body-file.ts'
import { BodyReaders, type ReaderEvents, type ReaderLag } from './body-readers.ts'

/** Memory and directory for bodies that wait. */
export interface BodyStore {
  readonly blocks: BodyBlocks
  /** Directory for bodies that are too long for memory; made when it is needed. */
  dir(): string
}

/** How a body waits. */
interface BodyBufferOptions<File extends BodyFile> {
  readonly blocks: BodyBlocks
  /**
   * `all`: any number of readers, each from any place on; the file gets the whole body. `untaken`: one reader, and the bytes that it has taken
   * is forgotten, in the file too; without a reader nothing is stored.
   */
  readonly keeps: 'all' | 'untaken'
  /** Past that the file takes the bytes. */
  readonly memoryBytes: number
  /** `all`: a longer body is not stored; 0: none is. `untaken`: past so many that wait, no more may come. */
  readonly maxBytes: number
  /** Begins a file. Throws or rejects when there can be none. */
  readonly openFile: () => File | Promise<File>
  /**
   * The file failed, or with undefined: the body is too long, or the file has no room for it. The bytes in memory stay there, and no
   * more may come until all readers have them.
   */
  readonly onNotStored?: (error: Error | undefined) => void
  /** More may come, after `add` returned false. */
  readonly onRoom?: () => void
  /** The body is not stored, and its last reader has left. */
  readonly onUnread?: () => void
  /** Drops readers of a body that is not stored which took nothing for so long, while others wait for more. */
  readonly lag?: ReaderLag
}

/** Bytes of a body. */
export interface BodyPiece {
  readonly bytes: Uint8Array
  /** To be returned to the pool once the bytes are no longer used. Without it they are lent until the reader says `took`. */
  readonly block: Buffer | undefined
}

/** The answer to a reader: bytes, more will come, there is no more, or the body broke off. */
type BodyPart = BodyPiece | 'later' | 'end' | Error

/** One reader of a body, at its own speed. */
export class BodyCursor {
  readonly #buffer: BodyBuffer
  readonly events: ReaderEvents
  /** How many bytes of the body it has taken or skipped. */
  position: number
  /** Comes from the file. */
  state: 'idle' | 'reading' | BodyPiece | Error = 'idle'
  isClosed = false

  constructor(buffer: BodyBuffer, position: number, events: ReaderEvents) {
    this.#buffer = buffer
    this.position = position
    this.events = events
  }

  /** The next bytes; never none. Each piece has to be confirmed by `took` before the next one. */
  take(maxBytes: number = Number.POSITIVE_INFINITY): BodyPart {
    return this.#buffer.partFor(this, maxBytes)
  }

  /** It has taken so many bytes. `wantsMore`: not before `took(0, true)` it makes room for others. */
  took(bytes: number, wantsMore: boolean): void {
    this.position += bytes
    if (wantsMore) this.#buffer.advanced()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#buffer.left(this)
  }
}

/**
 * A body between its sender and its readers: in memory while it is short, then in a file. A body that the file does not take, or not
 * any more, is as fast as the slowest of its readers.
 */
export class BodyBuffer<File extends BodyFile = BodyFile> {
  /** The pool that the blocks of its pieces return to. */
  readonly blocks: BodyBlocks
  readonly #options: BodyBufferOptions<File>
  readonly #held: HeldPieces
  readonly #readers: BodyReaders<BodyCursor>
  /** How many bytes have come. */
  bytes = 0
  readonly #filed: FilePart<File>
  #isStored: boolean
  #isWriting = false
  /** No more may come before `onRoom`. */
  #isFull = false
  /** `add` has not returned yet, and says itself that more may come. */
  #isAdding = false
  #end: 'open' | 'complete' | Error = 'open'
  #isReleased = false
  #onWritten: (() => void) | undefined

  constructor(options: BodyBufferOptions<File>) {
    this.#options = options
    this.blocks = options.blocks
    this.#held = new HeldPieces(options.blocks)
    this.#readers = new BodyReaders(this, options.lag)
    this.#filed = new FilePart(options.openFile)
    this.#isStored = options.maxBytes > 0
  }

  /** A body that lies in a file, which is closed with it. */
  static ofFile(blocks: BodyBlocks, file: BodyFile, bytes: number): BodyBuffer {
    const limits = { memoryBytes: 0, maxBytes: Number.POSITIVE_INFINITY }
    const stored = new BodyBuffer({ blocks, keeps: 'all', ...limits, openFile: () => file })
    stored.bytes = bytes
    stored.#filed.hold(file, bytes)
    stored.#end = 'complete'
    return stored
  }

  get hasReaders(): boolean {
    return !this.#readers.isEmpty
  }

  /** True until `end`. */
  get isOpen(): boolean {
    return this.#end === 'open'
  }

  /** Begins to read. */
  reader(position: number, events: ReaderEvents): BodyCursor {
    const reader = new BodyCursor(this, position, events)
    this.#readers.add(reader)
    return reader
  }

  /**
   * Takes a copy of bytes. False: no more before `onRoom`.
   * @param missingBytes of the body, these included; infinite: unknown
   */
  add(bytes: Uint8Array, missingBytes: number = Number.POSITIVE_INFINITY): boolean {
    const { keeps, maxBytes } = this.#options
    this.#held.add(bytes, this.bytes, missingBytes)
    this.bytes += bytes.byteLength
    // If an earlier call returned false, `onRoom` is owed.
    this.#isAdding = !this.#isFull
    this.#isFull = true
    if (keeps === 'all' && this.bytes > maxBytes) this.#stopStoring(undefined)
    this.#readers.wake()
    this.#goOn()
    this.#isAdding = false
    this.#isFull ||= this.#isBlocked
    return !this.#isFull
  }

  /** It is complete, or broke off. */
  end(error?: Error): void {
    this.#end = error ?? 'complete'
    this.#readers.wake()
  }

  /** A complete body, once it is written: the file, where it is longer than the memory for it; undefined: it is not stored. */
  async stored(): Promise<Uint8Array | File | undefined> {
    if (this.#isWriting) {
      await new Promise<void>((resolve) => {
        this.#onWritten = resolve
      })
    }
    return this.#isStored ? (this.#filed.file ?? this.#held.whole()) : undefined
  }

  /** It gets no new readers; the present ones may read it to its end. */
  release(): void {
    this.#isReleased = true
    this.#closeIfDone()
  }

  /** For `BodyCursor`: the next bytes. */
  partFor(reader: BodyCursor, maxBytes: number): BodyPart {
    const { state, position } = reader
    if (state === 'reading') return 'later'
    if (state !== 'idle') {
      if (!(state instanceof Error)) reader.state = 'idle'
      return state
    }
    const piece = this.#held.from(position)
    if (piece !== undefined && piece.start <= position) {
      const bytes = piece.memory.subarray(position - piece.start, Math.min(piece.usedBytes, position - piece.start + maxBytes))
      return { bytes, block: this.#options.keeps === 'untaken' ? this.#held.remove(piece) : undefined }
    }
    if (position < this.#filed.to) return this.#readFile(reader, maxBytes)
    if (this.#end instanceof Error) return this.#end
    return this.#end === 'complete' ? 'end' : 'later'
  }

  /** For `BodyCursor`: it has taken more. */
  advanced(): void {
    if (!this.#isStored || this.#options.keeps === 'untaken') this.#goOn()
  }

  /** For `BodyCursor`: it has been closed. */
  left(reader: BodyCursor): void {
    this.#readers.delete(reader)
    if (typeof reader.state === 'object' && !(reader.state instanceof Error)) this.blocks.give(reader.state.block)
    if (this.#options.keeps === 'untaken') this.#isReleased = true
    else if (!this.#isStored && this.#readers.isEmpty) this.#options.onUnread?.()
    else this.#goOn()
    this.#closeIfDone()
  }

  #readFile(reader: BodyCursor, maxBytes: number): 'later' {
    const { blocks } = this
    const { position } = reader
    const block = blocks.take()
    const into = block.subarray(0, Math.min(block.byteLength, this.#filed.to - position, maxBytes))
    const settle = (outcome: BodyPiece | Error) => {
      if (outcome instanceof Error || reader.isClosed) blocks.give(block)
      if (reader.isClosed) return
      reader.state = outcome
      reader.events.ready()
    }
    const truncated = () => new HttpError('ENGINE_BODY_LOST', 'the file of a spooled body was truncated')
    reader.state = 'reading'
    this.#filed.read(into, position).then(
      (length) => settle(length === 0 ? truncated() : { bytes: into.subarray(0, length), block }),
      (error) => settle(asError(error)),
    )
    return 'later'
  }

  /** Writes the bytes that are too many for memory, or forgets those that all have read, and lets more come. */
  #goOn(): void {
    if (this.#isStored) this.#write()
    if (!this.#isStored) this.#held.forget(this.#readers.leastPosition)
    if (this.#isBlocked) {
      if (!this.#isStored) this.#readers.watch(() => this.#goOn())
    } else if (this.#isFull) {
      this.#isFull = false
      if (!this.#isAdding) this.#options.onRoom?.()
    }
  }

  get #isBlocked(): boolean {
    const { keeps, maxBytes } = this.#options
    if (!this.#isStored) return this.#readers.leastPosition < this.bytes
    return keeps === 'all' ? this.#isWriting : this.bytes - this.#readers.leastPosition >= maxBytes
  }

  #write(): void {
    while (this.#isStored && !this.#isWriting) {
      const piece = this.#nextToWrite()
      if (piece === undefined) return
      const to = piece.start + piece.usedBytes
      const settle = (isTaken: boolean) => {
        if (!isTaken) return this.#stopStoring(undefined)
        this.#filed.to = to
        // More may have come into the memory of the piece meanwhile.
        if (piece.start + piece.usedBytes === to) this.blocks.give(this.#held.remove(piece))
      }
      const fail = (error: unknown) => this.#stopStoring(asError(error))
      try {
        const outcome = this.#filed.write(piece)
        if (typeof outcome === 'boolean') settle(outcome)
        else this.#settleLater(outcome.then(settle, fail))
      } catch (error) {
        fail(error)
      }
    }
  }

  #nextToWrite(): HeldPiece | undefined {
    const { keeps, memoryBytes } = this.#options
    if (keeps === 'all') return this.bytes > memoryBytes ? this.#held.from(this.#filed.to) : undefined
    if (this.#filed.to > this.#readers.leastPosition) return this.#held.from(this.#filed.to)
    const piece = this.#held.beyond(memoryBytes)
    // The reader has taken all bytes of the file: it is written from its beginning.
    if (piece !== undefined) this.#filed.restart(piece.start)
    return piece
  }

  #settleLater(writing: Promise<void>): void {
    this.#isWriting = true
    void writing.then(() => {
      this.#isWriting = false
      this.#goOn()
      if (!this.#isWriting) this.#onWritten?.()
      this.#closeIfDone()
    })
  }

  #stopStoring(error: Error | undefined): void {
    if (!this.#isStored) return
    this.#isStored = false
    this.#options.onNotStored?.(error)
    if (this.#readers.isEmpty) this.#options.onUnread?.()
  }

  #closeIfDone(): void {
    if (!this.#isReleased || !this.#readers.isEmpty || this.#isWriting) return
    this.#readers.stopWatch()
    this.#held.forget(Number.POSITIVE_INFINITY)
    this.#filed.close()
  }
}
