import { type BodyWriter, problemOf } from '@svc/http'
import type { RenderHead, RenderReply } from '@svc/protocol'
import type { RenderHandle, RenderSink } from '../../render-client/renderer.ts'
import type { RequestContext } from '../request-context.ts'

/** What Next.js sends with a page that was rendered for this request alone. */
const UNCACHED = 'private, no-cache, no-store, max-age=0, must-revalidate'

function withCacheControl(head: RenderHead): RenderHead {
  if (head.headers.some(([name]) => name.toLowerCase() === 'cache-control')) return head
  return { status: head.status, headers: [...head.headers, ['cache-control', UNCACHED]] }
}

/** Engines send up to this much at once; of a larger body they keep what the client does not take yet. */
const MAX_LENT_BYTES = 32 * 1024
const empty = new Uint8Array(0)

/** Sends the answer of a render to the client: whole, or piece by piece no faster than the client takes it. */
export class AnswerSink implements RenderSink {
  readonly #context: RequestContext
  readonly #onFailure: (error: Error) => void
  readonly #waitingAcks: (() => void)[] = []
  #writer: BodyWriter | undefined

  /** `onFailure` gets errors that come before anything was sent; later ones cut the response. */
  constructor(context: RequestContext, onFailure: (error: Error) => void) {
    this.#context = context
    this.#onFailure = onFailure
  }

  /**
   * Ties the render to the exchange: when that is over, because the client went or because it gets no body (HEAD), what is
   * left of the render is given up.
   */
  attach(handle: RenderHandle): void {
    this.#context.onClosed(() => handle.abort())
  }

  complete(reply: RenderReply, body: Uint8Array | undefined): void {
    if (reply.head === undefined) {
      this.#onFailure(new TypeError('the render host answered without a head'))
      return
    }
    const { request } = this.#context
    const head = withCacheControl(reply.head)
    if (request.method === 'HEAD' && (body?.byteLength ?? 0) === 0) {
      // A handler leaves out the body: how long it would be for GET is not known, and is not said to be 0 (RFC 9110 section 8.6).
      this.#context.stream(head).end()
      return
    }
    const mayBeKept = request.header('accept-encoding') !== undefined || (body?.byteLength ?? 0) > MAX_LENT_BYTES
    this.#context.respondCompressed(head, mayBeKept && body !== undefined ? Buffer.from(body) : (body ?? empty))
  }

  head(head: RenderHead): void {
    const writer = this.#context.streamCompressed(withCacheControl(head))
    this.#writer = writer
    writer.onDrain(() => {
      for (const ack of this.#waitingAcks.splice(0)) ack()
    })
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    if (this.#writer?.write(bytes) === false) this.#waitingAcks.push(ack)
    else ack()
  }

  end(): void {
    this.#writer?.end()
  }

  fail(error: Error): void {
    if (this.#writer === undefined) {
      this.#onFailure(error)
      return
    }
    this.#context.reportFailure(error, problemOf(error).status)
    this.#writer.abort()
  }
}
