import type { Readable } from 'node:stream'
import { HttpError } from '@svc/http'
import {
  type BodyOwner,
  type BodySize,
  bodyTooLarge,
  type ChunkListener,
  type EndListener,
  ReceivedBody,
} from '../exchange/body-reader.ts'

/** Unacknowledged bytes past which reading from the socket stops. */
const HIGH_WATER_BYTES = 64 * 1024

/** Source of a body. */
export interface BodySource {
  readonly stream: Readable
  /** True if the last byte has arrived, read or not. */
  hasArrived(): boolean
  /** True if the end of the stream is not the end of the body: the client aborted. */
  isBroken(): boolean
}

/** The body of one request. It is read on demand only: until then the connection's own flow control holds the client. */
export class NodeBody extends ReceivedBody {
  readonly #source: BodySource
  #isFlowing = false
  #isEnded = false

  constructor(source: BodySource, owner: BodyOwner, size: BodySize) {
    super(owner, size)
    this.#source = source
    source.stream.once('end', () => this.#guard(() => this.#ended()))
    source.stream.once('close', () => this.#guard(() => this.#closed()))
  }

  get isOpen(): boolean {
    return !this.#isEnded && !this.#source.hasArrived()
  }

  override hasStalled(nowMs: number, sinceMs: number, limitMs: number): boolean {
    return this.#isFlowing && super.hasStalled(nowMs, sinceMs, limitMs)
  }

  read(onChunk: ChunkListener, onEnd: EndListener): void {
    this.reader.begin(onChunk, onEnd)
    if (this.#isEnded || this.failure !== undefined) this.reader.end(this.failure)
    else this.#flow()
  }

  fail(error: Error): void {
    if (this.isDiscarding) return
    if (!this.#isEnded) this.failure = error
    this.isDiscarding = true
    this.#flow()
    this.#resume()
    if (this.failure !== undefined) this.reader.end(this.failure)
  }

  /** Ends reading with an error; nothing comes any more. */
  abandon(error: Error): void {
    this.fail(error)
    this.#isEnded = true
    this.owner.bodyEnded()
  }

  #flow(): void {
    if (this.#isFlowing || this.#isEnded) return
    this.#isFlowing = true
    this.lastChunkAt = performance.now()
    this.#source.stream.on('data', (chunk: Buffer) => this.#guard(() => this.#received(chunk)))
  }

  #received(chunk: Buffer): void {
    this.receivedBytes += chunk.byteLength
    this.lastChunkAt = performance.now()
    if (this.isDiscarding) return
    if (this.receivedBytes > this.maxBytes) {
      this.fail(bodyTooLarge(this.maxBytes))
      this.owner.bodyRefused(413, 'body_too_large')
      return
    }
    this.unackedBytes += chunk.byteLength
    this.reader.hand(chunk, () => {
      this.unackedBytes -= chunk.byteLength
      if (this.unackedBytes <= HIGH_WATER_BYTES / 2) this.#resume()
    })
    if (this.unackedBytes <= HIGH_WATER_BYTES || this.isDiscarding) return
    this.isPaused = true
    this.#source.stream.pause()
  }

  #resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.#source.stream.resume()
  }

  #ended(): void {
    if (this.#source.isBroken()) {
      this.#closed()
      return
    }
    this.#isEnded = true
    if (this.failure === undefined) this.reader.end(undefined)
    this.owner.bodyEnded()
  }

  #closed(): void {
    if (this.#isEnded) return
    this.abandon(new HttpError('HTTP_ABORTED', 'the client went away'))
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.owner.problem(error)
    }
  }
}
