import {
  type BodyWriter,
  HttpError,
  type HttpExchange,
  noBody,
  type RequestBody,
  type ResponseHead,
  type StreamOptions,
  statusLine,
  type WebSocketOffer,
} from '@svc/http'
import type { ReceivedBody } from './body-reader.ts'
import type { EngineRequest, PeerSource } from './engine-request.ts'
import type { EngineContext, EngineLimits, WatchedExchange } from './exchange-watch.ts'
import type { Lingering } from './lingering.ts'
import { refusalFields } from './response-head.ts'

/** State shared by all exchanges of one engine. */
export interface ExchangeContext<Head> extends EngineContext {
  /** Heads as the engine writes them. */
  readonly heads: { of(head: ResponseHead): Head }
}

/** A body writer as its exchange sees it. */
interface ExchangeWriter extends BodyWriter {
  /** Since when (monotonic ms) the peer takes nothing, or undefined. */
  readonly blockedSince: number | undefined
  /** The response ended without the writer. */
  gone(): void
}

const empty = new Uint8Array(0)
const ANSWERED_EARLY = 'the response was sent before the request body was complete'

/** The states of an exchange, which all engines share: who answers it, how it ends, and how long its steps may take. */
export abstract class EngineExchange<
  Head,
  Context extends ExchangeContext<Head>,
  Body extends ReceivedBody,
  Writer extends ExchangeWriter,
> implements HttpExchange, PeerSource, WatchedExchange
{
  watchPlace: number | undefined
  webSocket: WebSocketOffer | undefined
  protected readonly context: Context
  protected readonly listener: string
  protected method = ''
  protected target = ''
  protected received: Body | undefined
  protected writer: Writer | undefined
  protected answeredBy: 'app' | 'engine' | undefined
  protected ending: 'none' | 'written' | 'aborted' = 'none'
  /** True if the connection closes behind the response, whatever the engine does. */
  protected closesAfter = false
  protected lingering: Lingering | undefined
  protected watchedSince = 0
  protected hasAnswerLimit = true
  #hasBodyLimit = true
  #stallLimits: { readonly bodyMs: number | undefined; readonly sendMs: number | undefined } | undefined
  #request: EngineRequest | undefined
  #onClosed: ((isAborted: boolean) => void) | undefined

  constructor(context: Context, listener: string) {
    this.context = context
    this.listener = listener
    context.began()
  }

  /** True if nothing can be written any more. */
  abstract readonly isOver: boolean

  abstract remoteAddress(): string

  abstract stream(head: ResponseHead, options?: StreamOptions): BodyWriter

  /** Cuts the connection. @param reason a fault of this program */
  abstract cut(reason?: Error): void

  /** Sends a complete response. */
  protected abstract answer(head: Head, body: Uint8Array): void

  get request(): EngineRequest {
    if (this.#request === undefined) throw new HttpError('HTTP_MISUSE', 'a refused request has no content')
    return this.#request
  }

  get body(): RequestBody {
    return this.received ?? noBody
  }

  /** Hands the request over to the application. */
  admit(request: EngineRequest): void {
    this.#request = request
  }

  respond(head: ResponseHead, body: Uint8Array = empty): void {
    // Before the claim: if the head cannot be built, the request can still be refused.
    const built = this.context.heads.of(head)
    if (this.claim()) this.answer(built, body)
  }

  onClosed(listener: ((isAborted: boolean) => void) | undefined): void {
    if (this.ending === 'none') this.#onClosed = listener
    else this.call(() => listener?.(this.ending === 'aborted'))
  }

  liftAnswerLimit(): void {
    this.hasAnswerLimit = false
  }

  liftBodyLimit(): void {
    this.#hasBodyLimit = false
  }

  limitStalls(limits: { readonly bodyMs: number | undefined; readonly sendMs: number | undefined }): void {
    this.#stallLimits = limits
  }

  /** Answers in place of the application and closes the connection. Does nothing once the response has begun. */
  refuse(status: number, code: string, failure?: Error): void {
    if (this.isOver || this.answeredBy !== undefined) return
    this.answeredBy = 'engine'
    this.closesAfter = true
    this.reportRefusal(status, code)
    this.received?.fail(failure ?? new HttpError('HTTP_ABORTED', `the request was refused: ${code}`))
    this.answer(this.context.heads.of({ status, headers: refusalFields(status) }), Buffer.from(`${statusLine(status)}\n`))
  }

  /** The body cannot be read to its end: its reader knows of it and may respond; otherwise this is the response. */
  bodyRefused(status: number, code: string): void {
    setImmediate(() => this.refuse(status, code))
  }

  bodyEnded(): void {
    this.lingering?.requestRead()
  }

  problem(error: unknown): void {
    this.context.problem(error)
  }

  check(now: number, { requestTimeoutMs, idleTimeoutMs }: EngineLimits): void {
    if (this.ending !== 'none' && this.lingering?.isPending !== true) return
    if (this.lingering?.isPending === true) this.lingering.check(now, this.received?.receivedBytes ?? 0)
    else if (this.answeredBy === undefined) {
      if (this.#isLate(now, requestTimeoutMs)) this.#expire()
    } else if (now - (this.blockedSince ?? now) > (this.#stallLimits?.sendMs ?? idleTimeoutMs)) this.cut()
    else if (this.received?.hasStalled(now, this.watchedSince, this.#stallLimits?.bodyMs ?? requestTimeoutMs) === true) this.cut()
  }

  /** Since when (monotonic ms) the peer takes nothing of the response, or undefined. */
  protected get blockedSince(): number | undefined {
    return this.writer?.blockedSince
  }

  /** True if the connection ends with this response. */
  protected get closes(): boolean {
    return this.closesAfter || this.context.isDraining
  }

  /** False: the engine has answered, or the client has disconnected. @throws HTTP_MISUSE the second time */
  protected claim(): boolean {
    if (this.answeredBy === 'app') throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    const isFree = this.answeredBy === undefined && !this.isOver
    this.answeredBy ??= 'app'
    return isFree
  }

  protected hasNoBody(status: number): boolean {
    return status === 204 || status === 304 || this.method === 'HEAD'
  }

  protected reportRefusal(status: number, code: string): void {
    const { listener, method, target } = this
    const remoteAddress = this.#request?.remoteAddress ?? this.remoteAddress()
    this.context.refused({ status, code, listener, remoteAddress, method, target, request: this.#request })
  }

  /** The unread rest of the request is not needed any more. */
  protected dropBody(why = ANSWERED_EARLY): void {
    if (this.received !== undefined) this.call(() => this.received?.fail(new HttpError('HTTP_ABORTED', why)))
  }

  /** Tells the application, once, that the response is written or will never be. False: it has been told before. */
  protected settle(isAborted: boolean): boolean {
    if (this.ending !== 'none') return false
    this.ending = isAborted || this.answeredBy === 'engine' ? 'aborted' : 'written'
    this.dropBody(isAborted ? 'the client went away' : ANSWERED_EARLY)
    this.call(() => this.writer?.gone())
    const listener = this.#onClosed
    this.#onClosed = undefined
    if (listener !== undefined) this.call(() => listener(this.ending === 'aborted'))
    return true
  }

  protected call(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.context.problem(error)
    }
  }

  #isLate(now: number, limitMs: number): boolean {
    const { received } = this
    const bodyMs = this.#stallLimits?.bodyMs
    if (received?.isOpen === true && (!this.#hasBodyLimit || bodyMs !== undefined))
      return received.hasStalled(now, this.watchedSince, bodyMs ?? limitMs)
    return (this.hasAnswerLimit || received?.isOpen === true) && now - this.watchedSince > limitMs
  }

  #expire(): void {
    if (this.received?.isOpen === true) {
      this.refuse(408, 'request_timeout', new HttpError('HTTP_REQUEST_TIMEOUT', 'the request did not arrive in time'))
    } else {
      this.refuse(504, 'response_timeout')
    }
  }
}
