import type { HeaderList, ResponseHead, ResponseSink, ResponseSource } from '@svc/http'

/**
 * Passes a response on, and shows its head to an observer first, which may let the client wait: until the entries that the response
 * invalidates are gone, the client must not have it.
 */
export class WatchedHead implements ResponseSink, ResponseSource {
  readonly #sink: ResponseSink
  readonly #onHead: (head: ResponseHead) => Promise<void> | undefined
  #source: ResponseSource | undefined
  /** Calls of the source while the head waits. */
  #waiting: (() => unknown)[] | undefined
  #isAborted = false

  /** @param onHead undefined: there is nothing to wait for. Never rejects. */
  constructor(sink: ResponseSink, onHead: (head: ResponseHead) => Promise<void> | undefined) {
    this.#sink = sink
    this.#onHead = onHead
  }

  attach(source: ResponseSource): void {
    this.#source = source
    this.#sink.attach(this)
  }

  resume(): void {
    if (this.#waiting === undefined) this.#source?.resume()
  }

  abort(): void {
    this.#isAborted = true
    this.#source?.abort()
  }

  informational(head: ResponseHead): void {
    this.#sink.informational(head)
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.#watch(head)
    if (this.#waiting === undefined) this.#sink.whole(head, body)
    else {
      const own = Buffer.from(body)
      this.#waiting.push(() => this.#sink.whole(head, own))
    }
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.#watch(head)
    this.#inOrder(() => this.#sink.head(head, length))
  }

  chunk(bytes: Uint8Array): boolean {
    if (this.#waiting === undefined) return this.#sink.chunk(bytes)
    const own = Buffer.from(bytes)
    this.#waiting.push(() => this.#sink.chunk(own))
    return false
  }

  end(trailers: HeaderList): void {
    this.#inOrder(() => this.#sink.end(trailers))
  }

  fail(error: Error): void {
    this.#inOrder(() => this.#sink.fail(error))
  }

  #watch(head: ResponseHead): void {
    const done = this.#onHead(head)
    if (done === undefined) return
    this.#waiting = []
    void done.then(() => this.#goOn())
  }

  #inOrder(call: () => void): void {
    if (this.#waiting === undefined) call()
    else this.#waiting.push(call)
  }

  #goOn(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    let isFull = false
    for (const call of waiting) if (!this.#isAborted && call() === false) isFull = true
    if (!isFull) this.#source?.resume()
  }
}
