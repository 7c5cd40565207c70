import type { ResponseSink, ResponseSource } from '../exchange/response-sink.ts'
import type { BodyBuffer, BodyCursor } from './body-buffer.ts'

/** The part of a body that is sent. */
interface DeliveryRange {
  readonly from: number
  /** Exclusive; undefined: the end of the body. */
  readonly to: number | undefined
}

/** Sends a body, or a part of it, to a sink as fast as that takes it. */
export class BodyDelivery implements ResponseSource {
  readonly #buffer: BodyBuffer
  readonly #sink: Pick<ResponseSink, 'chunk' | 'end' | 'fail'>
  readonly #from: number
  readonly #to: number
  #reader: BodyCursor | undefined
  #isPumping = false
  /** The sink takes no more until `resume`. */
  #isHeld = false
  #isOver = false

  constructor(buffer: BodyBuffer, sink: Pick<ResponseSink, 'chunk' | 'end' | 'fail'>, range?: DeliveryRange) {
    this.#buffer = buffer
    this.#sink = sink
    this.#from = range?.from ?? 0
    this.#to = range?.to ?? Number.POSITIVE_INFINITY
  }

  /** Begins; the head has been sent. `isHeld`: with the first `resume`. */
  start(isHeld = false): void {
    if (this.#isOver) return
    this.#isHeld = isHeld
    this.#reader = this.#buffer.reader(this.#from, { ready: () => this.#pump(), cut: (error) => this.#fail(error) })
    this.#pump()
  }

  resume(): void {
    if (this.#isOver || !this.#isHeld) return
    this.#isHeld = false
    this.#reader?.took(0, true)
    this.#pump()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#reader?.close()
  }

  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    while (!this.#isHeld && !this.#isOver && this.#step());
    this.#isPumping = false
  }

  /** True if there may be more to do at once. */
  #step(): boolean {
    const reader = this.#reader
    if (reader === undefined) return false
    const part = reader.position < this.#to ? reader.take(this.#to - reader.position) : 'end'
    if (part === 'later') return false
    if (part === 'end') {
      this.abort()
      this.#sink.end([])
    } else if (part instanceof Error) {
      this.#fail(part)
    } else {
      this.#isHeld = !this.#sink.chunk(part.bytes)
      this.#buffer.blocks.give(part.block)
      reader.took(part.bytes.byteLength, !this.#isHeld && !this.#isOver)
    }
    return true
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.abort()
    this.#sink.fail(error)
  }
}
