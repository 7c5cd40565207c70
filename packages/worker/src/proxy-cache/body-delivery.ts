import { asError } from '@svc/core'
import type { ResponseSink, ResponseSource } from '@svc/http'
import { UpstreamError } from '@svc/upstream'
import type { BodyPosition, ReadableBody } from './readable-body.ts'

/** Read at once: enough that a file is read in few turns, and little enough for many clients. */
const READ_BYTES = 128 << 10

/** Sends a body, or a part of it, to a sink as fast as that takes it. */
export class BodyDelivery implements BodyPosition, ResponseSource {
  position: number
  readonly #body: ReadableBody
  readonly #sink: ResponseSink
  readonly #end: number
  #isPumping = false
  /** Bytes are being read from a file. */
  #isReading = false
  /** The sink takes no more until `resume`. */
  #isHeld = false
  #isOver = false

  /** @param end where it ends, exclusive; undefined: at the end of the body */
  constructor(body: ReadableBody, sink: ResponseSink, from: number, end: number | undefined) {
    this.#body = body
    this.#sink = sink
    this.position = from
    this.#end = end ?? Number.POSITIVE_INFINITY
  }

  /** Begins; the head has been sent. */
  start(): void {
    if (this.#isOver) return
    this.#body.attach(this)
    this.wake()
  }

  resume(): void {
    if (this.#isOver || !this.#isHeld) return
    this.#isHeld = false
    this.#body.advanced()
    this.wake()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#body.detach(this)
  }

  cut(error: Error): void {
    this.#fail(error)
  }

  wake(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    while (!this.#isReading && !this.#isHeld && !this.#isOver) if (!this.#step()) break
    this.#isPumping = false
  }

  /** True if there may be more to do at once. */
  #step(): boolean {
    const part =
      this.position >= this.#end ? 'end' : this.#body.read(this.position, Math.min(READ_BYTES, this.#end - this.position))
    if (part === 'later') return false
    if (part === 'end') {
      this.abort()
      this.#sink.end([])
      return false
    }
    if (part instanceof Error) {
      this.#fail(part)
      return false
    }
    if (part instanceof Promise) {
      this.#isReading = true
      part.then(
        (bytes) => this.#wasRead(bytes),
        (error) => this.#fail(asError(error)),
      )
      return false
    }
    this.#send(part)
    return true
  }

  #wasRead(bytes: Uint8Array): void {
    this.#isReading = false
    if (this.#isOver) return
    if (bytes.byteLength === 0) this.#fail(new UpstreamError('UPSTREAM_CUT', 'the stored body was truncated'))
    else {
      this.#send(bytes)
      this.wake()
    }
  }

  #send(bytes: Uint8Array): void {
    this.position += bytes.byteLength
    this.#isHeld = !this.#sink.chunk(bytes)
    if (!this.#isHeld && !this.#isOver) this.#body.advanced()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.abort()
    this.#sink.fail(error)
  }
}
