import { type BodyFileRef, type IncomingBody, MAX_INLINE_BYTES } from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import { UpstreamError } from '@svc/upstream'
import type { BodyPart, BodyPosition, ReadableBody } from './readable-body.ts'

/** Milliseconds after which a stalled reader of a body that is not cached is dropped, if other readers wait for more of it. */
const LAG_MS = 30_000

/** Bytes of a body that are in memory. */
interface Piece {
  readonly start: number
  readonly bytes: Uint8Array
}

interface SpoolOptions {
  /** Begins a file. Rejects when there can be none. */
  readonly begin: () => Promise<IncomingBody>
  readonly clock: Pick<Clock, 'after'>
  /** A longer body is not kept; 0: none is. */
  readonly maxBytes: number
  /** It turned out that the body cannot be kept. */
  readonly onUnkept: (error: Error | undefined) => void
  /** It is not cached, and has no reader any more. */
  readonly onUnread: () => void
  /** More may come, after `add` returned false. */
  readonly onRoom: () => void
}

/**
 * The body of a response as it comes: kept, in memory while it is short and then in a file, and read meanwhile by any number of
 * clients. The upstream is as fast as it can be written down. A body that is not kept, or not any more, is as fast as the
 * slowest of its readers.
 */
export class SpooledBody implements ReadableBody {
  readonly #options: SpoolOptions
  readonly #readers = new Set<BodyPosition>()
  /** Chunks that are not in the file, in order. */
  #pieces: Piece[] = []
  #bytes = 0
  #file: IncomingBody | undefined
  #fileBytes = 0
  #isKept: boolean
  #isWriting = false
  /** Nothing more may come until the last piece is written, or read by all. */
  #isFull = false
  /** `add` has not returned yet, and says itself that more may come. */
  #isAdding = false
  #end: 'open' | 'complete' | Error = 'open'
  #isReleased = false
  #onWritten: (() => void) | undefined
  /** Ends the watch for readers that hold up others. */
  #cancelWatch: (() => void) | undefined

  constructor(options: SpoolOptions) {
    this.#options = options
    this.#isKept = options.maxBytes > 0
  }

  /** True if it will be kept, as far as is known. */
  get isKept(): boolean {
    return this.#isKept
  }

  get bytes(): number {
    return this.#bytes
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0
  }

  /** Takes bytes, which must not change any more. False: no more before `onRoom`. */
  add(bytes: Uint8Array): boolean {
    this.#pieces.push({ start: this.#bytes, bytes })
    this.#bytes += bytes.byteLength
    // If an earlier call returned false, `onRoom` is owed.
    this.#isAdding = !this.#isFull
    this.#isFull = true
    if (this.#isKept && this.#bytes > this.#options.maxBytes) this.#stopKeeping(undefined)
    this.#wakeReaders()
    this.#goOn()
    this.#isAdding = false
    return !this.#isFull
  }

  /** It is complete, or broke off. */
  end(error: Error | undefined): void {
    this.#end = error ?? 'complete'
    this.#wakeReaders()
  }

  /** Takes a complete body for the store; undefined: it could not be stored. To be called once. */
  async kept(key: string): Promise<Uint8Array | BodyFileRef | undefined> {
    if (!this.#isKept) return undefined
    if (this.#file === undefined && !this.#isWriting) {
      return Buffer.concat(this.#pieces.map(({ bytes }) => bytes))
    }
    try {
      if (this.#isWriting) await this.#written()
      return this.#isKept ? await this.#file?.commit(key) : undefined
    } catch (error) {
      this.#stopKeeping(asError(error))
      return undefined
    }
  }

  /** It gets no new readers; the present ones may read it to its end. */
  release(): void {
    this.#isReleased = true
    this.#closeIfDone()
  }

  read(position: number, maxBytes: number): BodyPart {
    if (position < this.#fileBytes) {
      const file = this.#file
      return file === undefined ? 'end' : file.read(position, Math.min(maxBytes, this.#fileBytes - position))
    }
    for (const { start, bytes } of this.#pieces) {
      const from = position - start
      if (from >= 0 && from < bytes.byteLength) return bytes.subarray(from, from + maxBytes)
    }
    if (this.#end instanceof Error) return this.#end
    return this.#end === 'complete' ? 'end' : 'later'
  }

  attach(reader: BodyPosition): void {
    this.#readers.add(reader)
  }

  detach(reader: BodyPosition): void {
    if (!this.#readers.delete(reader)) return
    if (!this.#isKept && this.#readers.size === 0) this.#options.onUnread()
    else this.#goOn()
    this.#closeIfDone()
  }

  advanced(): void {
    if (!this.#isKept) this.#goOn()
  }

  #goOn(): void {
    if (this.#isKept) this.#write()
    else this.#forgetRead()
  }

  /** Writes the bytes in memory to the file, once they exceed the size that the store takes inline. */
  #write(): void {
    if (this.#isWriting) return
    if (this.#bytes <= MAX_INLINE_BYTES) {
      this.#takeMore()
      return
    }
    const pieces = this.#pieces
    if (pieces.length === 0) {
      this.#takeMore()
      return
    }
    this.#isWriting = true
    this.#append(Buffer.concat(pieces.map(({ bytes }) => bytes))).then(
      () => this.#wasWritten(undefined),
      (error) => this.#wasWritten(asError(error)),
    )
  }

  async #append(bytes: Uint8Array): Promise<void> {
    this.#file ??= await this.#options.begin()
    if (!(await this.#file.write(bytes))) {
      this.#stopKeeping(undefined)
      return
    }
    this.#fileBytes += bytes.byteLength
    this.#pieces = this.#pieces.filter(({ start, bytes: piece }) => start + piece.byteLength > this.#fileBytes)
  }

  #wasWritten(error: Error | undefined): void {
    this.#isWriting = false
    if (error === undefined) this.#goOn()
    else this.#stopKeeping(error)
    if (!this.#isWriting) this.#onWritten?.()
    this.#closeIfDone()
  }

  #written(): Promise<void> {
    return new Promise((resolve) => {
      this.#onWritten = resolve
    })
  }

  #stopKeeping(error: Error | undefined): void {
    if (!this.#isKept) return
    this.#isKept = false
    this.#onWritten?.()
    this.#options.onUnkept(error)
    if (this.#readers.size === 0) this.#options.onUnread()
    else this.#forgetRead()
    this.#closeIfDone()
  }

  /** Lets more come once everybody has read all there is. */
  #forgetRead(): void {
    const least = Math.min(...Array.from(this.#readers, ({ position }) => position))
    this.#pieces = this.#pieces.filter(({ start, bytes }) => start + bytes.byteLength > least)
    if (this.#pieces.length === 0 && least >= this.#bytes) this.#takeMore()
    else this.#watchLaggards()
  }

  /** Readers for whom there is more at hand. */
  get #lagging(): readonly BodyPosition[] {
    return [...this.#readers].filter(({ position }) => position < this.#bytes)
  }

  /** True if some have all that came, and more would come but for others. */
  get #isHeldUp(): boolean {
    return this.#end === 'open' && this.#lagging.length < this.#readers.size
  }

  /** Nobody holds up others for ever. */
  #watchLaggards(): void {
    if (this.#cancelWatch !== undefined || !this.#isHeldUp) return
    const lagging = this.#lagging.map((reader) => [reader, reader.position] as const)
    this.#cancelWatch = this.#options.clock.after(LAG_MS, () => {
      this.#cancelWatch = undefined
      const stuck = this.#isHeldUp ? lagging.filter(([reader, position]) => reader.position === position) : []
      for (const [reader] of stuck)
        reader.cut(new UpstreamError('UPSTREAM_CUT', 'slow client dropped: it was blocking other readers'))
      if (!this.#isKept && this.#readers.size > 0) this.#forgetRead()
    })
  }

  #takeMore(): void {
    if (!this.#isFull) return
    this.#isFull = false
    if (!this.#isAdding) this.#options.onRoom()
  }

  #wakeReaders(): void {
    for (const reader of [...this.#readers]) reader.wake()
  }

  #closeIfDone(): void {
    if (!this.#isReleased || this.#readers.size > 0 || this.#isWriting) return
    this.#cancelWatch?.()
    const file = this.#file
    this.#file = undefined
    file?.close().catch(() => undefined)
  }
}
