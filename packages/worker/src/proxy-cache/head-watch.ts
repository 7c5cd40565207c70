import type { HeaderList, ResponseHead } from '@svc/http'
import type { OriginSink } from '@svc/upstream'

/** Passes an answer on, and shows its head to somebody else. */
export class HeadWatch implements OriginSink {
  readonly #sink: OriginSink
  readonly #onHead: (head: ResponseHead) => void

  constructor(sink: OriginSink, onHead: (head: ResponseHead) => void) {
    this.#sink = sink
    this.#onHead = onHead
  }

  informational(head: ResponseHead): void {
    this.#sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.#onHead(head)
    this.#sink.head(head, length)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    this.#sink.chunk(bytes, ack)
  }

  end(trailers: HeaderList): void {
    this.#sink.end(trailers)
  }

  fail(error: Error): void {
    this.#sink.fail(error)
  }
}
