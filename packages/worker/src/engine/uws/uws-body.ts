import type { HttpResponse } from 'uWebSockets.js'
import { HttpError, type RequestBody } from '@svc/http'

type ChunkListener = (chunk: Uint8Array, ack: () => void) => void
type EndListener = (error: Error | undefined) => void

/** Unacknowledged bytes past which reading from the socket stops. */
const HIGH_WATER_BYTES = 64 * 1024
/** Chunks shorter than this start the library's idle timer again, which otherwise cuts senders under 16 KB a second. */
const SLOW_CHUNK_BYTES = 16 * 1024

/** What a body needs of its exchange. */
export interface BodyOwner {
  readonly isOver: boolean
  /** The body grew past the limit while it was read. */
  bodyTooLarge(): void
  /** The last byte has come. */
  bodyEnded(): void
  /** A listener threw. */
  problem(error: unknown): void
  /** Called before the first pause: the library's timers are stopped by a writable listener only. */
  beforePause(): void
}

/**
 * The body of one request. Receives from the start, keeps the first bytes until somebody reads, and slows the sender down when
 * nobody acknowledges. Pausing is soft: what the kernel has read already still comes.
 */
export class UwsBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  readonly #res: HttpResponse
  readonly #owner: BodyOwner
  readonly #maxBytes: number
  #early: Uint8Array[] = []
  #onChunk: ChunkListener | undefined
  #onEnd: EndListener | undefined
  #isRead = false
  #isPaused = false
  #isDiscarding = false
  #failure: Error | undefined
  #receivedBytes = 0
  #unackedBytes = 0
  /** Whether bytes are still to come. */
  isOpen = true
  /** When the last chunk came, in ms of the monotonic clock. */
  lastChunkAt = 0

  constructor(res: HttpResponse, owner: BodyOwner, length: number | undefined, maxBytes: number) {
    this.#res = res
    this.#owner = owner
    this.length = length
    this.#maxBytes = maxBytes
    res.onData((chunk, isLast) => this.#received(chunk, isLast))
  }

  /** Whether the receiver, not the sender, keeps the body from going on. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  read(onChunk: ChunkListener, onEnd: EndListener): void {
    if (this.#isRead) throw new HttpError('HTTP_MISUSE', 'the body of a request was read twice')
    this.#isRead = true
    this.#onChunk = onChunk
    this.#onEnd = onEnd
    const early = this.#early
    this.#early = []
    for (const chunk of early) this.#deliver(chunk)
    if (!this.isOpen || this.#failure !== undefined) this.#finish(this.#failure)
  }

  /** Ends reading with an error; what still comes is thrown away. */
  fail(error: Error): void {
    if (this.#isDiscarding) return
    if (this.isOpen || this.#early.length > 0) this.#failure = error
    this.discard()
    if (this.#failure !== undefined) this.#finish(this.#failure)
  }

  /** Throws away what still comes and lets it come. */
  discard(): void {
    this.#isDiscarding = true
    this.#early = []
    this.resume()
  }

  resume(): void {
    if (!this.#isPaused || this.#owner.isOver) return
    this.#isPaused = false
    this.#res.resume()
  }

  #received(chunk: ArrayBuffer, isLast: boolean): void {
    try {
      this.#receivedBytes += chunk.byteLength
      if (isLast) this.isOpen = false
      if (this.#owner.isOver) return
      this.lastChunkAt = performance.now()
      if (!isLast && chunk.byteLength < SLOW_CHUNK_BYTES && !this.#isPaused) this.#restartIdleTimer()
      if (!this.#isDiscarding) this.#take(chunk)
      if (isLast) this.#ended()
    } catch (error) {
      this.#owner.problem(error)
    }
  }

  /** Resuming alone, without a pause before it, would stop reading for good. */
  #restartIdleTimer(): void {
    this.#res.pause()
    this.#res.resume()
  }

  #take(chunk: ArrayBuffer): void {
    if (this.#receivedBytes > this.#maxBytes) {
      this.fail(new HttpError('HTTP_BODY_TOO_LARGE', `the request body is longer than ${this.#maxBytes} bytes`))
      this.#owner.bodyTooLarge()
      return
    }
    if (chunk.byteLength === 0) return
    // The memory belongs to the library again after this call.
    const copy = new Uint8Array(chunk.slice(0))
    this.#unackedBytes += copy.byteLength
    if (this.#onChunk === undefined) this.#early.push(copy)
    else this.#deliver(copy)
    if (this.#unackedBytes > HIGH_WATER_BYTES && this.isOpen) this.#pause()
  }

  #deliver(chunk: Uint8Array): void {
    let isAcked = false
    this.#onChunk?.(chunk, () => {
      if (isAcked) return
      isAcked = true
      this.#unackedBytes -= chunk.byteLength
      if (this.#unackedBytes <= HIGH_WATER_BYTES / 2) this.resume()
    })
  }

  #pause(): void {
    if (this.#isPaused || this.#owner.isOver || this.#isDiscarding) return
    this.#owner.beforePause()
    this.#isPaused = true
    this.#res.pause()
  }

  #ended(): void {
    if (this.#onEnd !== undefined && this.#failure === undefined) this.#finish(undefined)
    this.#owner.bodyEnded()
  }

  #finish(error: Error | undefined): void {
    const onEnd = this.#onEnd
    this.#onEnd = undefined
    this.#onChunk = undefined
    onEnd?.(error)
  }
}
