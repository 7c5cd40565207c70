import { type BodyWriter, type HeaderList, MAX_LENT_BYTES, problemOf, type ResponseHead } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import type { RenderSink, RenderSource } from '../render-client/renderer.ts'
import type { RequestContext } from './request-context.ts'

/** Cache-Control that Next.js sends with a page rendered for this request alone. */
const UNCACHED = 'private, no-cache, no-store, max-age=0, must-revalidate'

function withCacheControl(head: ResponseHead): ResponseHead {
  if (head.headers.some(([name]) => name.toLowerCase() === 'cache-control')) return head
  return { status: head.status, headers: [...head.headers, ['cache-control', UNCACHED]] }
}

/** Observer of a response on its way to the client. */
interface ClientSinkEvents {
  /** The render failed before anything was sent: answers the client in another way. Later errors cut the response. */
  failed(error: Error): void
  /** The response is complete: called before it is sent if it is whole, otherwise when it has ended. */
  completed?(head: ResponseHead, facts: CacheFacts | undefined): void
}

/** Sends the response of a render to the client: whole, or piece by piece no faster than the client takes it. */
export class ClientSink implements RenderSink {
  readonly #context: RequestContext
  readonly #listener: ClientSinkEvents
  #source: Pick<RenderSource, 'resume' | 'abort'> | undefined
  #writer: BodyWriter | undefined
  #head: ResponseHead | undefined

  constructor(context: RequestContext, listener: ClientSinkEvents) {
    this.#context = context
    this.#listener = listener
  }

  /**
   * Ties the render to the exchange: when that has ended, because the client left or because it gets no body (HEAD), the rest of the
   * render is aborted.
   */
  attach(source: Pick<RenderSource, 'resume' | 'abort'>): void {
    this.#source = source
    this.#context.onClosed(() => source.abort())
  }

  queued(isWaiting: boolean): void {
    this.#context.queued(isWaiting)
  }

  informational(head: ResponseHead): void {
    this.#context.informational(head)
  }

  whole(made: ResponseHead, body: Uint8Array, facts: CacheFacts | undefined): void {
    this.#listener.completed?.(made, facts)
    const { request } = this.#context
    const head = withCacheControl(made)
    if (request.method === 'HEAD' && body.byteLength === 0) {
      // A handler leaves out the body: how long it would be for GET is not known, and is not said to be 0 (RFC 9110 section 8.6).
      this.#context.stream(head).end()
      return
    }
    const outlivesCall = request.header('accept-encoding') !== undefined || body.byteLength > MAX_LENT_BYTES
    this.#context.respondCompressed(head, outlivesCall ? Buffer.from(body) : body)
  }

  head(head: ResponseHead): void {
    this.#head = head
    const writer = this.#context.streamCompressed(withCacheControl(head))
    this.#writer = writer
    writer.onDrain(() => this.#source?.resume())
  }

  chunk(bytes: Uint8Array): boolean {
    return this.#writer?.write(Buffer.from(bytes)) !== false
  }

  end(_trailers: HeaderList, facts: CacheFacts | undefined): void {
    this.#writer?.end()
    if (this.#head !== undefined) this.#listener.completed?.(this.#head, facts)
  }

  fail(error: Error): void {
    if (this.#writer === undefined) {
      this.#listener.failed(error)
      return
    }
    this.#context.reportFailure(error, problemOf(error).status)
    this.#writer.abort()
  }
}
