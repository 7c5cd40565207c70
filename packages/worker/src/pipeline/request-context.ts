import { asError } from '@svc/core'
import type { BodyWriter, ClientInfo, HttpExchange, HttpRequest, ResponseHead, StreamOptions } from '@svc/http'
import { compressComplete, compressStream } from '../compression/index.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { SiteRuntime } from '../generation/site-runtime.ts'

/** What was sent. */
export interface RequestOutcome {
  /** 0: nothing. */
  readonly status: number
  /** Body bytes handed to the engine to be sent. */
  readonly bytes: number
}

/** What contexts share. */
export interface ContextTools {
  makeRequestId(): string
  /** Told of failures inside the service, with the status that they are answered with. */
  reportFailure(context: RequestContext, error: Error, status: number): void
}

/** Bucket of a request in metrics: a route pattern, or one of these. */
export type PathGroup = 'static' | 'proxy' | 'builtin' | 'other' | (string & {})

/**
 * One request on its way through the pipeline: the exchange, what the stages found out, and what will be logged of it. The
 * generation it began with stays with it to its end.
 */
export class RequestContext {
  readonly exchange: HttpExchange
  readonly request: HttpRequest
  readonly generation: ServingGeneration
  readonly client: ClientInfo
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number
  site: SiteRuntime | undefined
  pathGroup: PathGroup = 'other'
  /** False for probes: they are neither logged nor counted as traffic. */
  isLogged = true
  /** Fields that middleware wants on the response, whatever answers. */
  responseHeaders: readonly (readonly [string, string])[] = []
  readonly #tools: ContextTools
  #onClosed: ((isAborted: boolean) => void) | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'
  #requestId: string | undefined
  #status = 0
  #bytes = 0

  constructor(exchange: HttpExchange, generation: ServingGeneration, client: ClientInfo, tools: ContextTools) {
    this.exchange = exchange
    this.request = exchange.request
    this.generation = generation
    this.client = client
    this.startedAt = performance.now()
    this.#tools = tools
  }

  /** Made when something first needs it; taken from the request when a trusted proxy sent one. */
  get requestId(): string {
    this.#requestId ??=
      (this.client.isPeerTrusted ? this.request.header('x-request-id') : undefined) ?? this.#tools.makeRequestId()
    return this.#requestId
  }

  get isAnswered(): boolean {
    return this.#status !== 0
  }

  outcome(): RequestOutcome {
    return { status: this.#status, bytes: this.#bytes }
  }

  /** Sets who is told when the exchange is over, at once if it is; a later call replaces it. */
  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else listener(this.#ending === 'aborted')
  }

  /** Called once, when the exchange is over. */
  closed(isAborted: boolean): void {
    this.#ending = isAborted ? 'aborted' : 'written'
    this.#onClosed?.(isAborted)
    this.#onClosed = undefined
  }

  /** Writes a failure down under the id of this request. */
  reportFailure(error: Error, status: number): void {
    this.#tools.reportFailure(this, error, status)
  }

  /** Sends a complete response. */
  respond(head: ResponseHead, body?: Uint8Array): void {
    this.#status = head.status
    this.#bytes = this.#sendsBody(head.status) ? (body?.byteLength ?? 0) : 0
    this.exchange.respond(this.#withExtraHeaders(head), body)
  }

  /** Sends the head of a streamed response. */
  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    this.#status = head.status
    const writer = this.exchange.stream(this.#withExtraHeaders(head), options)
    if (!this.#sendsBody(head.status)) return writer
    const count = (chunk: Uint8Array | undefined) => {
      this.#bytes += chunk?.byteLength ?? 0
    }
    return {
      write(chunk) {
        count(chunk)
        return writer.write(chunk)
      },
      onDrain: (listener) => writer.onDrain(listener),
      end(chunk) {
        count(chunk)
        writer.end(chunk)
      },
      abort: () => writer.abort(),
    }
  }

  /**
   * The exchange as a stage sees it that answers by itself (static files): what it sends is compressed, counted, and carries
   * the fields of middleware like every other answer.
   */
  asExchange(): HttpExchange {
    const { exchange, request } = this
    return {
      request,
      body: exchange.body,
      respond: (head, body) => this.respondCompressed(head, body),
      stream: (head, options) => compressStream(request, head, (final) => this.stream(final, final === head ? options : {})),
      onClosed: (listener) => this.onClosed(listener),
    }
  }

  /** Sends a complete response in the coding that the client likes best. */
  respondCompressed(head: ResponseHead, body: Uint8Array | undefined): void {
    if (body === undefined) {
      this.respond(head)
      return
    }
    const compressed = compressComplete(this.request, head, body)
    if (!(compressed instanceof Promise)) {
      this.respond(compressed.head, compressed.body)
      return
    }
    compressed.then(
      (done) => this.respond(done.head, done.body),
      (error) => {
        this.reportFailure(asError(error), head.status)
        this.respond(head, body)
      },
    )
  }

  /** Engines leave out the body of these (RFC 9110 sections 9.3.2, 15.3.5 and 15.4.5). */
  #sendsBody(status: number): boolean {
    return status !== 204 && status !== 304 && this.request.method !== 'HEAD'
  }

  #withExtraHeaders(head: ResponseHead): ResponseHead {
    if (this.responseHeaders.length === 0) return head
    const names = new Set(this.responseHeaders.map(([name]) => name.toLowerCase()))
    names.delete('set-cookie')
    const kept = head.headers.filter(([name]) => !names.has(name.toLowerCase()))
    return { status: head.status, headers: [...kept, ...this.responseHeaders] }
  }
}
