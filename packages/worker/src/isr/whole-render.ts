import { type Deferred, deferred } from '@svc/core'
import type { RenderHead, RenderReply, RenderRequest } from '@svc/protocol'
import type { Renderer, RenderSink } from '../render-client/renderer.ts'

/** A small answer of a site's code for the server itself. */
export interface WholeAnswer {
  readonly head: RenderHead
  readonly body: Buffer
}

/** Takes an answer that must not be streamed. */
class WholeSink implements RenderSink {
  readonly answer: Deferred<WholeAnswer> = deferred()

  complete(reply: RenderReply, body: Uint8Array | undefined): void {
    if (reply.head === undefined) this.answer.reject(new TypeError('the render host answered without a head'))
    else this.answer.resolve({ head: reply.head, body: Buffer.from(body ?? '') })
  }

  head(): void {
    this.answer.reject(new TypeError('the render host streamed what was asked for whole'))
  }

  chunk(_bytes: Uint8Array, ack: () => void): void {
    ack()
  }

  end(): void {
    // The head has told already.
  }

  fail(error: Error): void {
    this.answer.reject(error)
  }
}

/** Renders and resolves with the whole answer. Rejects with what the render fails with. */
export function renderWhole(renderer: Renderer, request: RenderRequest): Promise<WholeAnswer> {
  const sink = new WholeSink()
  renderer.render(request, undefined, sink)
  return sink.answer.promise
}
