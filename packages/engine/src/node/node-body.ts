import type { Readable } from 'node:stream'
import { HttpError, type RequestBody } from '@svc/http'
import { BodyReader, bodyTooLarge, type ChunkListener, type EndListener } from '../exchange/body-reader.ts'

/** Unacknowledged bytes past which reading from the socket stops. */
const HIGH_WATER_BYTES = 64 * 1024

/** The parts of an exchange that its body uses. */
export interface BodyOwner {
  /** The body cannot be read to its end: its reader knows of it and may respond; otherwise this is the response. */
  bodyRefused(status: number, code: string): void
  /** The last byte has come. */
  bodyEnded(): void
  /** A listener threw. */
  problem(error: unknown): void
}

/** Source of a body. */
export interface BodySource {
  readonly stream: Readable
  /** True if the last byte has arrived, read or not. */
  hasArrived(): boolean
  /** True if the end of the stream is not the end of the body: the client aborted. */
  isBroken(): boolean
}

/** The body of one request. It is read on demand only: until then the connection's own flow control holds the client. */
export class NodeBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  readonly #source: BodySource
  readonly #owner: BodyOwner
  readonly #maxBytes: number
  readonly #reader = new BodyReader()
  #isFlowing = false
  #isPaused = false
  #isDiscarding = false
  #isEnded = false
  #failure: Error | undefined
  #receivedBytes = 0
  #unackedBytes = 0
  /** When the last chunk came, in ms of the monotonic clock. */
  #lastChunkAt = 0

  constructor(source: BodySource, owner: BodyOwner, length: number | undefined, maxBytes: number) {
    this.#source = source
    this.#owner = owner
    this.length = length
    this.#maxBytes = maxBytes
    source.stream.once('end', () => this.#guard(() => this.#ended()))
    source.stream.once('close', () => this.#guard(() => this.#closed()))
  }

  /** True if bytes are still to come. */
  get isOpen(): boolean {
    return !this.#isEnded && !this.#source.hasArrived()
  }

  /** True if the sender, not the receiver, has kept the body from going on for `limitMs`. `sinceMs`: not looked at before. */
  hasStalled(nowMs: number, sinceMs: number, limitMs: number): boolean {
    return this.isOpen && this.#isFlowing && !this.#isPaused && nowMs - Math.max(this.#lastChunkAt, sinceMs) > limitMs
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  read(onChunk: ChunkListener, onEnd: EndListener): void {
    this.#reader.begin(onChunk, onEnd)
    if (this.#isEnded || this.#failure !== undefined) this.#reader.end(this.#failure)
    else this.#flow()
  }

  /** Ends reading with an error; later bytes are discarded. */
  fail(error: Error): void {
    if (this.#isDiscarding) return
    if (!this.#isEnded) this.#failure = error
    this.#isDiscarding = true
    this.#flow()
    this.#resume()
    if (this.#failure !== undefined) this.#reader.end(this.#failure)
  }

  /** Ends reading with an error; nothing comes any more. */
  abandon(error: Error): void {
    this.fail(error)
    this.#isEnded = true
    this.#owner.bodyEnded()
  }

  #flow(): void {
    if (this.#isFlowing || this.#isEnded) return
    this.#isFlowing = true
    this.#lastChunkAt = performance.now()
    this.#source.stream.on('data', (chunk: Buffer) => this.#guard(() => this.#received(chunk)))
  }

  #received(chunk: Buffer): void {
    this.#receivedBytes += chunk.byteLength
    this.#lastChunkAt = performance.now()
    if (this.#isDiscarding) return
    if (this.#receivedBytes > this.#maxBytes) {
      this.fail(bodyTooLarge(this.#maxBytes))
      this.#owner.bodyRefused(413, 'body_too_large')
      return
    }
    this.#unackedBytes += chunk.byteLength
    this.#reader.hand(chunk, () => {
      this.#unackedBytes -= chunk.byteLength
      if (this.#unackedBytes <= HIGH_WATER_BYTES / 2) this.#resume()
    })
    if (this.#unackedBytes <= HIGH_WATER_BYTES || this.#isDiscarding) return
    this.#isPaused = true
    this.#source.stream.pause()
  }

  #resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#source.stream.resume()
  }

  #ended(): void {
    if (this.#source.isBroken()) {
      this.#closed()
      return
    }
    this.#isEnded = true
    if (this.#failure === undefined) this.#reader.end(undefined)
    this.#owner.bodyEnded()
  }

  #closed(): void {
    if (this.#isEnded) return
    this.abandon(new HttpError('HTTP_ABORTED', 'the client went away'))
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#owner.problem(error)
    }
  }
}
