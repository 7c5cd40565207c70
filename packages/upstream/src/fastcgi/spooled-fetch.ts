import { asError } from '@svc/core'
import type { HeaderList, RequestBody, ResponseHead } from '@svc/http'
import type { OriginHandle, OriginSink } from '../origin/origin.ts'
import { type SpooledBody, spoolBody } from './body-spool.ts'

/** Sends a request with a body that has been taken in. */
type Send = (body: SpooledBody, sink: OriginSink) => OriginHandle

/** A request whose body is taken in before it is sent. */
export class SpooledFetch implements OriginHandle, OriginSink {
  readonly #sink: OriginSink
  readonly #send: Send
  #body: SpooledBody | undefined
  #handle: OriginHandle | undefined
  #isOver = false

  constructor(sink: OriginSink, send: Send) {
    this.#sink = sink
    this.#send = send
  }

  /** To be called once. */
  start(body: RequestBody, dir: string): void {
    spoolBody(body, dir).then(
      (spooled) => this.#spooled(spooled),
      (error) => {
        if (!this.#isOver) this.fail(asError(error))
      },
    )
  }

  abort(): void {
    this.#isOver = true
    this.#handle?.abort()
    this.#free()
  }

  informational(head: ResponseHead): void {
    this.#sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.#sink.head(head, length)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    this.#sink.chunk(bytes, ack)
  }

  end(trailers: HeaderList): void {
    this.#isOver = true
    this.#free()
    this.#sink.end(trailers)
  }

  fail(error: Error): void {
    this.#isOver = true
    this.#free()
    this.#sink.fail(error)
  }

  #spooled(body: SpooledBody): void {
    this.#body = body
    if (this.#isOver) this.#free()
    else this.#handle = this.#send(body, this)
  }

  #free(): void {
    // What cannot be closed is closed already.
    this.#body?.close().catch(() => undefined)
  }
}
