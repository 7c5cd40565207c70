import type { HeaderList, ResponseHead } from '@svc/http'
import type { AnswerReceiver, OriginSink } from '@svc/upstream'

/** A head that may be handed on together with its body. */
interface HeldHead {
  readonly head: ResponseHead
  readonly length: number
}

/** Longer bodies are streamed anyway. */
const MAX_WHOLE_BYTES = 64 << 10

/**
 * Lets a receiver that says when it takes no more receive from any origin. What comes whole in one turn, as from a cache, is
 * handed on whole.
 */
export class ReceiverSink implements OriginSink {
  readonly #receiver: AnswerReceiver
  #acks: (() => void)[] = []
  #held: HeldHead | undefined
  #isWhole = false

  constructor(receiver: AnswerReceiver) {
    this.#receiver = receiver
  }

  /** The receiver takes more again. */
  resume(): void {
    for (const ack of this.#acks.splice(0)) ack()
  }

  informational(head: ResponseHead): void {
    this.#receiver.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    if (length === undefined || length === 0 || length > MAX_WHOLE_BYTES) {
      this.#receiver.head(head, length, undefined)
      return
    }
    this.#held = { head, length }
    queueMicrotask(() => this.#flush())
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.#isWhole = true
    this.#receiver.head(head, body.byteLength, body)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    const held = this.#held
    if (held !== undefined && held.length === bytes.byteLength) {
      this.#held = undefined
      this.#isWhole = true
      this.#receiver.head(held.head, held.length, bytes)
      ack()
      return
    }
    this.#flush()
    if (this.#receiver.data(bytes)) ack()
    else this.#acks.push(ack)
  }

  end(trailers: HeaderList): void {
    this.#flush()
    if (!this.#isWhole) this.#receiver.end(trailers)
  }

  fail(error: Error): void {
    this.#flush()
    if (!this.#isWhole) this.#receiver.fail(error)
  }

  #flush(): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#receiver.head(held.head, held.length, undefined)
  }
}
