import { asError } from '@svc/core'
import type { OriginSink } from '@svc/upstream'
import { UpstreamError } from '@svc/upstream'
import type { BodyPosition, ReadableBody } from './readable-body.ts'

/** Read at once: enough that a file is read in few turns, and little enough for many clients. */
const READ_BYTES = 128 << 10

/** Sends a body, or a part of it, to a client as fast as that takes it. */
export class BodyDelivery implements BodyPosition {
  position: number
  readonly #body: ReadableBody
  readonly #sink: OriginSink
  readonly #end: number
  readonly #onOver: () => void
  #isPumping = false
  /** Something is on its way: a read, or the acknowledgement of a chunk. */
  #isBusy = false
  #isOver = false

  /** @param end where it ends, exclusive; undefined: at the end of the body */
  constructor(body: ReadableBody, sink: OriginSink, from: number, end: number | undefined, onOver: () => void) {
    this.#body = body
    this.#sink = sink
    this.position = from
    this.#end = end ?? Number.POSITIVE_INFINITY
    this.#onOver = onOver
  }

  /** Begins; the head has been sent. */
  start(): void {
    this.#body.attach(this)
    this.wake()
  }

  /** The client wants no more. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#body.detach(this)
    this.#onOver()
  }

  cut(error: Error): void {
    this.#fail(error)
  }

  wake(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    while (!this.#isBusy && !this.#isOver) if (!this.#step()) break
    this.#isPumping = false
  }

  /** Whether there may be more to do at once. */
  #step(): boolean {
    const part =
      this.position >= this.#end ? 'end' : this.#body.read(this.position, Math.min(READ_BYTES, this.#end - this.position))
    if (part === 'later') return false
    if (part === 'end') {
      this.stop()
      this.#sink.end([])
      return false
    }
    if (part instanceof Error) {
      this.#fail(part)
      return false
    }
    if (part instanceof Promise) {
      this.#isBusy = true
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
    this.#isBusy = false
    if (this.#isOver) return
    if (bytes.byteLength === 0) this.#fail(new UpstreamError('UPSTREAM_CUT', 'the stored body is shorter than it was'))
    else {
      this.#send(bytes)
      this.wake()
    }
  }

  #send(bytes: Uint8Array): void {
    this.position += bytes.byteLength
    this.#isBusy = true
    this.#sink.chunk(bytes, () => {
      this.#isBusy = false
      if (this.#isOver) return
      this.#body.advanced()
      this.wake()
    })
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.stop()
    this.#sink.fail(error)
  }
}
