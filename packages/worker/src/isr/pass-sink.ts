import type { RenderHead, RenderReply } from '@svc/protocol'
import type { RenderSink } from '../render-client/renderer.ts'
import type { MadeResponse } from './storability.ts'

/** Forwards the answer of a render as it is, and tells what it turned out to be when it has ended well. */
export class PassSink implements RenderSink {
  readonly #client: RenderSink
  /** Told before the answer is sent when it is whole, else after its end. */
  readonly #onMade: (made: MadeResponse) => void
  #head: RenderHead | undefined

  constructor(client: RenderSink, onMade: (made: MadeResponse) => void) {
    this.#client = client
    this.#onMade = onMade
  }

  complete(reply: RenderReply, body: Uint8Array | undefined): void {
    if (reply.head !== undefined) this.#onMade({ ...reply.head, facts: reply.cache })
    this.#client.complete(reply, body)
  }

  head(head: RenderHead): void {
    this.#head = head
    this.#client.head(head)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    this.#client.chunk(bytes, ack)
  }

  end(reply: RenderReply): void {
    this.#client.end(reply)
    if (this.#head !== undefined) this.#onMade({ ...this.#head, facts: reply.cache })
  }

  fail(error: Error): void {
    this.#client.fail(error)
  }
}
