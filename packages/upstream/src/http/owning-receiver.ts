import type { HeaderList, ResponseHead } from '@svc/http'
import type { OriginSink } from '../origin/origin.ts'
import type { AnswerReceiver } from './http-call.ts'

/** Bytes that are on their way to the receiver past which the server has to wait. */
const HIGH_WATER_BYTES = 64 * 1024

/** What is slowed down. */
interface Flow {
  resume(): void
}

/** Hands an answer on in memory of its own, and slows the server down while the receiver has not dealt with it. */
export class OwningReceiver implements AnswerReceiver {
  readonly #sink: OriginSink
  #flow: Flow | undefined
  #unackedBytes = 0
  #isPaused = false

  constructor(sink: OriginSink) {
    this.#sink = sink
  }

  /** To be called before anything comes. */
  attach(flow: Flow): void {
    this.#flow = flow
  }

  informational(head: ResponseHead): void {
    this.#sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined, body: Uint8Array | undefined): void {
    this.#sink.head(head, length)
    if (body === undefined) return
    if (body.byteLength > 0) this.#sink.chunk(Buffer.from(body), () => undefined)
    this.#sink.end([])
  }

  data(bytes: Uint8Array): boolean {
    const length = bytes.byteLength
    this.#unackedBytes += length
    let isAcked = false
    this.#sink.chunk(Buffer.from(bytes), () => {
      if (isAcked) return
      isAcked = true
      this.#acked(length)
    })
    this.#isPaused = this.#unackedBytes >= HIGH_WATER_BYTES
    return !this.#isPaused
  }

  end(trailers: HeaderList): void {
    this.#sink.end(trailers)
  }

  fail(error: Error): void {
    this.#sink.fail(error)
  }

  #acked(bytes: number): void {
    this.#unackedBytes -= bytes
    if (!this.#isPaused || this.#unackedBytes >= HIGH_WATER_BYTES / 2) return
    this.#isPaused = false
    this.#flow?.resume()
  }
}
