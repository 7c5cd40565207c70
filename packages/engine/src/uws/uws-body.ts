import type { HttpResponse } from 'uWebSockets.js'
import { asError } from '@svc/core'
import { BodyBuffer, type BodyCursor, type BodyPiece, type BodyStore, HttpError, SpoolFile } from '@svc/http'
import {
  type BodyOwner,
  type BodySize,
  bodyTooLarge,
  type ChunkListener,
  type EndListener,
  ReceivedBody,
} from '../exchange/body-reader.ts'

/** Unacknowledged bytes past which nothing more is handed on; with the waiting bytes, the limit past which reading from the socket stops. */
const HIGH_WATER_BYTES = 128 * 1024
/** Waits in memory at most; the rest of a body is in its file. */
const MAX_MEMORY_BYTES = 1024 * 1024
/** Chunks shorter than this are handed on in memory of their own, which costs less than a block. */
const SHORT_CHUNK_BYTES = 8 * 1024
/** Chunks shorter than this start the library's idle timer again, which otherwise cuts senders under 16 KB a second. */
const SLOW_CHUNK_BYTES = 16 * 1024

/** The parts of an exchange that its body uses. */
export interface UwsBodyOwner extends BodyOwner {
  readonly isOver: boolean
  /** Called before the first pause: the library's timers are stopped by a writable listener only. */
  beforePause(): void
}

/**
 * The body of one request. Receives from the start, buffers unread bytes, and slows the sender down when they are not acknowledged.
 * Pausing is soft: the library goes on as long as it finds half a megabyte at each read, so a sender on the same machine may send
 * everything in one turn. Bytes over the memory limit wait in a file.
 */
export class UwsBody extends ReceivedBody<UwsBodyOwner> {
  readonly #res: HttpResponse
  readonly #store: BodyStore
  /** Made when a chunk has to wait. */
  #buffer: BodyBuffer | undefined
  #waiting: BodyCursor | undefined
  #isHandingOn = false
  #waitingBytes = 0
  isOpen = true

  constructor(res: HttpResponse, owner: UwsBodyOwner, store: BodyStore, size: BodySize) {
    super(owner, size)
    this.#res = res
    this.#store = store
    res.onData((chunk, isLast) => this.#received(chunk, isLast))
  }

  read(onChunk: ChunkListener, onEnd: EndListener): void {
    this.reader.begin(onChunk, onEnd)
    if (this.failure !== undefined) this.reader.end(this.failure)
    else this.#handOn()
  }

  fail(error: Error): void {
    if (this.isDiscarding) return
    if (this.isOpen || this.#waitingBytes > 0) this.#break(error)
    else this.discard()
  }

  /** Reads and discards later bytes. */
  discard(): void {
    this.isDiscarding = true
    this.#waitingBytes = 0
    this.#waiting?.close()
    this.resume()
  }

  resume(): void {
    if (!this.isPaused || this.owner.isOver) return
    this.isPaused = false
    this.lastChunkAt = performance.now()
    this.#res.resume()
  }

  #received(chunk: ArrayBuffer, isLast: boolean): void {
    try {
      this.receivedBytes += chunk.byteLength
      if (isLast) this.isOpen = false
      if (this.owner.isOver) return
      this.lastChunkAt = performance.now()
      if (!isLast && chunk.byteLength < SLOW_CHUNK_BYTES && !this.isPaused) {
        // Resuming alone, without a pause before it, would stop reading for good.
        this.#res.pause()
        this.#res.resume()
      }
      if (!this.isDiscarding) this.#take(chunk)
      if (!isLast) return
      this.#handOn()
      this.owner.bodyEnded()
    } catch (error) {
      this.owner.problem(error)
    }
  }

  #take(chunk: ArrayBuffer): void {
    if (this.receivedBytes > this.maxBytes) {
      this.#break(bodyTooLarge(this.maxBytes))
      this.owner.bodyRefused(413, 'body_too_large')
      return
    }
    if (chunk.byteLength === 0) return
    // The memory belongs to the library again after this call.
    const isFree = this.#waitingBytes === 0 && this.unackedBytes < HIGH_WATER_BYTES && !this.#isHandingOn
    if (isFree && chunk.byteLength <= SHORT_CHUNK_BYTES && this.reader.isReading)
      this.#hand({ bytes: new Uint8Array(chunk.slice(0)), block: undefined })
    else this.#wait(new Uint8Array(chunk))
    this.#handOn()
    if (this.unackedBytes + this.#waitingBytes > HIGH_WATER_BYTES && this.isOpen) this.#pause()
  }

  #wait(bytes: Uint8Array): void {
    const missing = this.length === undefined ? Number.POSITIVE_INFINITY : this.length - this.receivedBytes
    this.#waitingBytes += bytes.byteLength
    this.#buffer ??= this.#makeBuffer()
    this.#buffer.add(bytes, missing + bytes.byteLength)
  }

  #makeBuffer(): BodyBuffer {
    const buffer = new BodyBuffer({
      blocks: this.#store.blocks,
      keeps: 'untaken',
      memoryBytes: MAX_MEMORY_BYTES,
      maxBytes: Number.POSITIVE_INFINITY,
      openFile: () => SpoolFile.open(this.#store.dir(), true),
      onNotStored: (error) => this.#lost(asError(error)),
    })
    this.#waiting = buffer.reader(0, { ready: () => this.#handOn() })
    return buffer
  }

  /** A full disk, most likely. */
  #lost(cause: Error): void {
    const error = new HttpError('ENGINE_BODY_LOST', `failed to spool a request body to a file: ${cause.message}`, {
      cause,
    })
    this.owner.problem(error)
    this.#break(error)
    this.owner.bodyRefused(500, 'body_lost')
  }

  #break(error: Error): void {
    this.failure = error
    this.discard()
    this.reader.end(error)
  }

  /** Hands on waiting bytes, as many as may be in flight at once. */
  #handOn(): void {
    if (this.#isHandingOn) return
    while (this.reader.isReading && this.unackedBytes < HIGH_WATER_BYTES) {
      const piece = this.#waitingBytes > 0 ? this.#waiting?.take() : undefined
      if (piece instanceof Error) this.#lost(piece)
      if (typeof piece !== 'object' || piece instanceof Error) break
      this.#waitingBytes -= piece.bytes.byteLength
      this.#waiting?.took(piece.bytes.byteLength, false)
      this.#hand(piece)
    }
    if (!this.isOpen && this.#waitingBytes === 0 && this.failure === undefined) this.reader.end(undefined)
    if (this.unackedBytes + this.#waitingBytes <= HIGH_WATER_BYTES / 2) this.resume()
  }

  /** An acknowledgement during the call brings no further bytes before the receiver has returned. */
  #hand({ bytes, block }: BodyPiece): void {
    this.unackedBytes += bytes.byteLength
    this.#isHandingOn = true
    try {
      this.reader.hand(bytes, (isUnused) => {
        this.unackedBytes -= bytes.byteLength
        if (isUnused === true && block !== undefined) this.#store.blocks.give(block)
        this.#handOn()
      })
    } catch (error) {
      this.owner.problem(error)
    } finally {
      this.#isHandingOn = false
    }
  }

  #pause(): void {
    if (this.isPaused || this.owner.isOver || this.isDiscarding) return
    this.owner.beforePause()
    this.isPaused = true
    this.#res.pause()
  }
}
