import type { HeaderList, ResponseHead } from '@svc/http'
import type { OriginSink } from '@svc/upstream'

/** Passes an answer on once what it makes invalid is gone from the cache: who has the answer must not find the old any more. */
export class InvalidatingSink implements OriginSink {
  readonly #sink: OriginSink
  readonly #invalidate: (head: ResponseHead) => Promise<void> | undefined
  /** What came while the head waits. */
  #waiting: (() => void)[] | undefined

  /** @param invalidate undefined: there is nothing to wait for. Never rejects. */
  constructor(sink: OriginSink, invalidate: (head: ResponseHead) => Promise<void> | undefined) {
    this.#sink = sink
    this.#invalidate = invalidate
  }

  informational(head: ResponseHead): void {
    this.#sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    const done = this.#invalidate(head)
    if (done !== undefined) {
      this.#waiting = []
      void done.then(() => this.#goOn())
    }
    this.#inOrder(() => this.#sink.head(head, length))
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    this.#inOrder(() => this.#sink.chunk(bytes, ack))
  }

  end(trailers: HeaderList): void {
    this.#inOrder(() => this.#sink.end(trailers))
  }

  fail(error: Error): void {
    this.#inOrder(() => this.#sink.fail(error))
  }

  #inOrder(call: () => void): void {
    if (this.#waiting === undefined) call()
    else this.#waiting.push(call)
  }

  #goOn(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const call of waiting) call()
  }
}
