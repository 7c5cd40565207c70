import { performance } from 'node:perf_hooks'
import type { L0Offer } from '@svc/cache'
import { asError } from '@svc/core'
import type {
  BodyWriter,
  ClientInfo,
  HeaderList,
  HttpExchange,
  HttpRequest,
  RequestBody,
  ResponseHead,
  StreamOptions,
} from '@svc/http'
import { noBody, RepeatableBody } from '@svc/http'
import { compressComplete, compressStream, type Encode } from '../compression/index.ts'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { SiteRuntime } from '../generation/site-runtime.ts'
import { cacheWord, l0Status, withCacheStatus } from './cache-report.ts'
import { type EventStream, type EventStreams, isEventStream } from './event-streams.ts'
import type { L0Intake, L0Ticket } from './l0-fill.ts'
import { BodyCopy, L0Fill } from './l0-fill.ts'
import { LimitedBody } from './limited-body.ts'
import { RewrittenRequest, type RewrittenTarget } from './rewritten-request.ts'

const empty = new Uint8Array(0)

/** The response as it was sent. */
export interface RequestOutcome {
  /** 0: nothing. */
  readonly status: number
  /** Body bytes handed to the engine to be sent. */
  readonly bytes: number
}

/** A response that its client does not get whole. */
interface UnsentWhole {
  readonly head: ResponseHead
  /** Length of its body as it is, before compression. */
  readonly bytes: number
  /** Sends it, at once or later. False: it could not be sent. */
  send(taker: L0Fill): boolean
}

/** State shared by all contexts. */
export interface ContextTools {
  makeRequestId(): string
  /** Takes in answers for L0. */
  readonly l0: L0Intake
  /** Ends streams of events when the server drains. */
  readonly eventStreams: EventStreams
  /** Called for failures inside the service, with the status of the response to them. */
  reportFailure(context: RequestContext, error: Error, status: number): void
}

/** Bucket of a request in metrics: a route pattern, or one of these. */
type PathGroup = 'static' | 'proxy' | 'builtin' | 'other' | (string & {})

/**
 * One request on its way through the pipeline: the exchange, the results of the stages, and the data for its log line. The
 * generation it began with stays with it to its end.
 */
export class RequestContext {
  readonly exchange: HttpExchange
  /** As rewriting left it; `exchange.request` is the request as the client sent it. */
  request: HttpRequest
  /** As far as its limit lets it come. */
  body: RequestBody
  readonly generation: ServingGeneration
  readonly client: ClientInfo
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number
  site: SiteRuntime | undefined
  /** The server of a vhost file that the host led to, with the captures of its name. */
  vhost: VhostMatch | undefined
  pathGroup: PathGroup = 'other'
  /** False for probes: they are neither logged nor counted as traffic. */
  isLogged = true
  /** True if it is written in the access log, where there is one. */
  isAccessLogged = true
  /** Fields that middleware wants on the response, whatever answers. */
  responseHeaders: readonly (readonly [string, string])[] = []
  /** Fields that route rules set on the response, for any handler, over any other value of them. */
  ruleHeaders: HeaderList = []
  /** Changes the head of whatever answers, before anything else is added to it. */
  shapeHead: ((head: ResponseHead) => ResponseHead) | undefined
  /** Shows a failure by a page of its own. False: there is none for this status. */
  showFailure: ((status: number) => boolean) | undefined
  /** True if answers may be compressed here. */
  mayCompress = true
  /** The member of the cache behind the pipeline in the Cache-Status field; "": no cache was queried. */
  cacheStatus = ''
  readonly #tools: ContextTools
  #onClosed: ((isAborted: boolean) => void) | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'
  #requestId: string | undefined
  #maxBodyBytes = Number.POSITIVE_INFINITY
  #repeatable: RepeatableBody | undefined
  #status = 0
  #bytes = 0
  #isKeptFromL0 = false
  #ticket: L0Ticket | undefined
  #fill: L0Fill | undefined
  #events: EventStream | undefined
  /** A streamed response as far as it has been sent, for L0. */
  #copy: { readonly head: ResponseHead; readonly body: BodyCopy } | undefined

  constructor(exchange: HttpExchange, generation: ServingGeneration, client: ClientInfo, tools: ContextTools) {
    this.exchange = exchange
    this.request = exchange.request
    this.body = exchange.body
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

  /** Later stages see another target. L0 and the access log use the target that the client sent. */
  rewriteTo(target: RewrittenTarget): void {
    this.request = new RewrittenRequest(this.exchange.request, target)
  }

  /** Limits the body to so many bytes. False: it is declared to be longer. */
  limitBody(maxBytes: number): boolean {
    const { body } = this.exchange
    if (!body.isPresent) return true
    this.#maxBodyBytes = maxBytes
    this.#makeBody()
    return (body.length ?? 0) <= maxBytes
  }

  /** Nobody gets anything of the body from now on. */
  dropBody(): void {
    this.body = noBody
  }

  /** Lets a body that has not been read yet be read again, if it is short, by the next handler if its first reader failed. */
  makeBodyRepeatable(): void {
    if (!this.body.isPresent || this.#repeatable !== undefined) return
    this.#repeatable = new RepeatableBody(this.exchange.body)
    this.#makeBody()
  }

  #makeBody(): void {
    const body = this.#repeatable ?? this.exchange.body
    this.body = this.#maxBodyBytes === Number.POSITIVE_INFINITY ? body : new LimitedBody(body, this.#maxBodyBytes)
  }

  outcome(): RequestOutcome {
    return { status: this.#status, bytes: this.#bytes }
  }

  /** Sets the listener for the end of the exchange; it is called at once if the exchange has ended. A later call replaces it. */
  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else listener(this.#ending === 'aborted')
  }

  /** Outcome of the caches, as one word for the access log; "" when no cache was queried. */
  get cacheWord(): string {
    return this.cacheStatus === '' ? '' : cacheWord(this.cacheStatus)
  }

  /** False if L0 is off, or the response is kept out of it: it need not be offered. */
  get mayEnterL0(): boolean {
    return !this.#isKeptFromL0 && this.#tools.l0.isEnabled
  }

  /**
   * Offers the response to L0, before it is sent. It is taken if it is of a kind that L0 keeps, if it has been requested before,
   * and if no stage withdraws it. With HEAD, the response to GET is offered.
   * @returns true if L0 wants it
   */
  offerToL0(offer: L0Offer): boolean {
    if (!this.mayEnterL0) return false
    this.#ticket?.end()
    const { client, generation, pathGroup, isAccessLogged } = this
    const { request } = this.exchange
    const site = this.site?.config.id ?? ''
    // Vhost files may depend on the target as sent: `$request_uri`, and requests to an upstream.
    const isOfSpelling = this.vhost !== undefined
    const offering = { request, client, generation: generation.number, site, pathGroup, isAccessLogged, isOfSpelling }
    this.#ticket = this.#tools.l0.ticketFor(offering, offer)
    return this.#ticket !== undefined
  }

  /**
   * Gives L0 the complete response that it was offered, where this client gets less (304): else a page whose clients all have it
   * already would never come in. To be called before the client is answered.
   */
  fillL0({ head, bytes, send }: UnsentWhole): void {
    const ticket = this.#ticket
    this.#ticket = undefined
    if (ticket === undefined) return
    if (bytes > ticket.maxBytes || !ticket.mayStore(this.#finalHead(this.#shaped(head))) || !ticket.beginFill()) {
      ticket.end()
      return
    }
    const onProblem = (error: Error) => this.reportFailure(error, head.status)
    const finalHead = (final: ResponseHead) => this.#finalHead(this.#shaped(final))
    const fill = new L0Fill({ ticket, request: this.request, mayCompress: this.mayCompress, finalHead, onProblem })
    this.#fill = fill
    try {
      if (!send(fill)) fill.drop()
    } catch (error) {
      fill.drop()
      onProblem(asError(error))
    }
  }

  /** Keeps the response out of L0 for good: it depends on more of the request than the key of L0 holds, or it was guarded. */
  withdrawFromL0(): void {
    this.#isKeptFromL0 = true
    this.#dropTicket()
    this.#fill?.drop()
  }

  /** Called once, when the exchange has ended. */
  closed(isAborted: boolean): void {
    this.#ending = isAborted ? 'aborted' : 'written'
    this.#events?.left()
    if (!isAborted && this.#copy !== undefined) this.#ticket?.store(this.#copy.head, this.#copy.body.whole())
    this.#dropTicket()
    this.#onClosed?.(isAborted)
    this.#onClosed = undefined
  }

  /** Writes a failure down under the id of this request. */
  reportFailure(error: Error, status: number): void {
    this.#tools.reportFailure(this, error, status)
  }

  /** The exchange has become a WebSocket: there is no response to send any more. */
  switched(): void {
    this.#status = 101
  }

  /** Sends a complete response. */
  respond(unshaped: ResponseHead, body?: Uint8Array): void {
    const head = this.#shaped(unshaped)
    this.#status = head.status
    this.#bytes = this.#sendsBody(head.status) ? (body?.byteLength ?? 0) : 0
    const final = this.#finalHead(head)
    // Before it is sent: the body may be lent for this call alone.
    if (body !== undefined || this.request.method !== 'HEAD') this.#ticket?.store(final, body ?? empty)
    this.#dropTicket()
    this.exchange.respond(final, body)
  }

  /** Sends the head of a streamed response. */
  stream(unshaped: ResponseHead, options?: StreamOptions): BodyWriter {
    const head = this.#shaped(unshaped)
    this.#status = head.status
    const final = this.#finalHead(head)
    const sendsBody = this.#sendsBody(head.status)
    this.#startCopy(final, sendsBody ? (options?.length ?? 0) : Number.POSITIVE_INFINITY)
    const writer = this.exchange.stream(final, options)
    if (!sendsBody) return writer
    const count = (chunk: Uint8Array | undefined) => {
      if (chunk === undefined) return
      this.#bytes += chunk.byteLength
      if (this.#copy?.body.add(Buffer.from(chunk)) === false) this.#dropTicket()
    }
    return {
      write(chunk, onUnused) {
        count(chunk)
        return writer.write(chunk, onUnused)
      },
      onDrain: (listener) => writer.onDrain(listener),
      end(chunk, trailers) {
        count(chunk)
        writer.end(chunk, trailers)
      },
      abort: () => writer.abort(),
    }
  }

  /**
   * The exchange as a stage sees it that answers by itself (static files): what it sends is compressed, counted, and carries
   * the fields of middleware like every other answer.
   */
  asExchange(): HttpExchange {
    const { exchange, request, body } = this
    return {
      request,
      body,
      respond: (head, content) => this.respondCompressed(head, content),
      stream: (head, options) => this.streamCompressed(head, options),
      onClosed: (listener) => this.onClosed(listener),
      liftAnswerLimit: () => exchange.liftAnswerLimit(),
    }
  }

  /** Sends the head of a streamed response in the coding that the client likes best. */
  streamCompressed(head: ResponseHead, options?: StreamOptions): BodyWriter {
    const writer = this.mayCompress
      ? compressStream(this.request, head, (final, isCoded) => this.stream(final, isCoded ? {} : options))
      : this.stream(head, options)
    if (!isEventStream(head, options) || !this.#sendsBody(head.status)) return writer
    this.#events = this.#tools.eventStreams.join(writer)
    return this.#events
  }

  /** Sends a complete response in the coding that the client likes best. `encode` may know the body compressed already. */
  respondCompressed(head: ResponseHead, body: Uint8Array | undefined, encode?: Encode): void {
    if (body === undefined || !this.mayCompress) {
      this.respond(head, body)
      return
    }
    const compressed = compressComplete(this.request, head, body, encode)
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

  /** Begins to collect the body of a streamed response if L0 wants it. */
  #startCopy(head: ResponseHead, bytes: number): void {
    const ticket = this.#ticket
    if (ticket === undefined) return
    if (bytes > ticket.maxBytes) this.#dropTicket()
    else this.#copy = { head, body: new BodyCopy(ticket.maxBytes) }
  }

  #dropTicket(): void {
    this.#ticket?.end()
    this.#ticket = undefined
    this.#copy = undefined
  }

  #shaped(head: ResponseHead): ResponseHead {
    return this.shapeHead === undefined ? head : this.shapeHead(head)
  }

  #finalHead(head: ResponseHead): ResponseHead {
    const extended = this.#withExtraHeaders(head)
    if (this.site === undefined) return extended
    const members = this.cacheStatus === '' ? [] : [this.cacheStatus]
    if (this.#tools.l0.isEnabled) members.push(l0Status(this.request))
    return members.length === 0 ? extended : withCacheStatus(extended, members)
  }

  #withExtraHeaders(unsecured: ResponseHead): ResponseHead {
    const head = this.#withStrictTransport(unsecured)
    return withFields(withFields(head, this.responseHeaders), this.ruleHeaders)
  }

  /** RFC 6797 section 7.2: never over plain HTTP. The response's own field takes precedence. */
  #withStrictTransport(head: ResponseHead): ResponseHead {
    const { strictTransport } = this.generation
    if (strictTransport === undefined || this.client.scheme !== 'https') return head
    if (head.headers.some(([name]) => name.toLowerCase() === strictTransport[0])) return head
    return { status: head.status, headers: [...head.headers, strictTransport] }
  }
}

/** Outcome of a stage for a request. */
export type StageResult = 'answered' | 'next'

/** One step of the pipeline. It either answers the request or passes it on; nothing jumps back. */
export interface Stage {
  readonly name: string
  run(context: RequestContext): StageResult | Promise<StageResult>
}

/** Sets fields in place of those of the same name; cookies are added. */
function withFields(head: ResponseHead, fields: HeaderList): ResponseHead {
  if (fields.length === 0) return head
  const names = new Set(fields.map(([name]) => name.toLowerCase()))
  names.delete('set-cookie')
  const kept = head.headers.filter(([name]) => !names.has(name.toLowerCase()))
  return { status: head.status, headers: [...kept, ...fields] }
}
