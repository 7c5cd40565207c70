import type { HeaderList, ResponseHead } from '@svc/http'
import type { AnswerReceiver } from '../http/http-call.ts'
import type { OriginSink } from '../origin.ts'

/** Lets a receiver that says when it takes no more receive from any origin. */
export class ReceiverSink implements OriginSink {
  readonly #receiver: AnswerReceiver
  #acks: (() => void)[] = []

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
    this.#receiver.head(head, length, undefined)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    if (this.#receiver.data(bytes)) ack()
    else this.#acks.push(ack)
  }

  end(trailers: HeaderList): void {
    this.#receiver.end(trailers)
  }

  fail(error: Error): void {
    this.#receiver.fail(error)
  }
}
