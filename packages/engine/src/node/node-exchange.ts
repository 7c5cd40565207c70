import {
  type BodyWriter,
  guardTrailers,
  type HeaderList,
  HttpError,
  type HttpExchange,
  MAX_LENT_BYTES,
  noBody,
  type RequestBody,
  type ResponseHead,
  type StreamOptions,
  statusLine,
  type WebSocketOffer,
} from '@svc/http'
import { LINGER_BYTES, LINGER_MS } from '../exchange/body-reader.ts'
import { discardingWriter } from '../exchange/chunk-queue.ts'
import type { EngineRequest } from '../exchange/engine-request.ts'
import { refusalFields } from '../exchange/response-head.ts'
import type { EngineLimits } from '../listener/engine.ts'
import type { WatchedExchange } from '../listener/exchange-watch.ts'
import { type BodyOwner, type BodySource, NodeBody } from './node-body.ts'
import type { NodeContext } from './node-context.ts'
import type { NodeHead } from './node-head.ts'
import { MAX_SLICE_BYTES, NodeWriter, type WriterPort } from './node-writer.ts'
import type { Framing, ResponseWire } from './response-wire.ts'

/** How long nothing may be written to a client that has half-closed before it counts as gone. */
const DESERTED_MS = 5_000

const empty = new Uint8Array(0)

/** State of a request before it is examined. */
interface ReceivedRequest {
  readonly listener: string
  readonly remoteAddress: string
  readonly method: string
  readonly target: string
}

/** One request and its response on node:http or node:http2. */
export class NodeExchange implements HttpExchange, WriterPort, BodyOwner, WatchedExchange {
  watchPlace: number | undefined
  webSocket: WebSocketOffer | undefined
  readonly #context: NodeContext
  readonly #wire: ResponseWire
  readonly #received: ReceivedRequest
  #watchedSince = performance.now()
  #request: EngineRequest | undefined
  #body: NodeBody | undefined
  #writer: NodeWriter | undefined
  #onClosed: ((isAborted: boolean) => void) | undefined
  #answeredBy: 'app' | 'engine' | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'
  /** When everything was handed over that the peer has to take before the response is complete. */
  #endedAt: number | undefined
  #closesAfter = false
  #hasClosed = false
  #hasAnswerLimit = true
  #hasSwitched = false
  #lingerUntil = 0
  #halfClosedAt: number | undefined
  #afterLinger: (() => void) | undefined

  constructor(context: NodeContext, wire: ResponseWire, received: ReceivedRequest) {
    this.#context = context
    this.#wire = wire
    this.#received = received
    wire.out.once('finish', () => this.#finished())
    wire.out.once('close', () => this.#outClosed())
    context.began()
    context.watch(this)
  }

  get request(): EngineRequest {
    if (this.#request === undefined) throw new HttpError('HTTP_MISUSE', 'a refused request has no content')
    return this.#request
  }

  get body(): RequestBody {
    return this.#body ?? noBody
  }

  get out(): ResponseWire['out'] {
    return this.#wire.out
  }

  get isOver(): boolean {
    return this.#ending !== 'none' || this.#wire.isGone
  }

  /** True if the response says that the connection ends with it. */
  get hasClosed(): boolean {
    return this.#hasClosed
  }

  /** Begins to receive the body. */
  receiveBody(source: BodySource, length: number | undefined, maxBytes: number): void {
    this.#body = new NodeBody(source, this, length, maxBytes)
  }

  /** Hands the request over to the application. */
  admit(request: EngineRequest): void {
    this.#request = request
  }

  /** The application has started: from now on the exchange waits for it. */
  handlerReturned(): void {
    this.#watchedSince = performance.now()
  }

  /** Answers with a ready response that may be taken slowly. */
  takeOver(head: NodeHead, body: Uint8Array, onClosed: (isAborted: boolean) => void): void {
    this.#answeredBy = 'app'
    this.#onClosed = onClosed
    this.#answer(head, body)
  }

  /** The client sends nothing more: it may be gone, or wait for the rest of its response. */
  halfClosed(): void {
    this.#halfClosedAt ??= performance.now()
    this.#cutIfLeft()
  }

  /** The bytes on the connection can no longer be parsed: if they belong to the body of this request, the body is broken. */
  inputFailed(): void {
    if (this.#body?.isOpen !== true) return
    this.#closesAfter = true
    this.#body.abandon(new HttpError('HTTP_BAD_REQUEST', 'the request body is malformed'))
    // The reader of the body knows of the failure and may have responded; if not, the response is sent here.
    setImmediate(() => {
      if (this.#answeredBy === undefined) this.refuse(400, 'bad_body')
    })
  }

  respond(head: ResponseHead, body: Uint8Array = empty): void {
    if (this.#claim()) this.#answer(this.#context.heads.of(head), body)
  }

  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    if (!this.#claim()) return discardingWriter
    const safe = this.#context.heads.of(head)
    const length = options?.length
    if (this.#hasNoBody(safe.status)) {
      this.#answerBodiless(safe, length)
      return discardingWriter
    }
    if (length === 0) {
      this.#answer(safe, empty)
      return discardingWriter
    }
    this.#wire.head(safe, this.#framing(length))
    const writer = new NodeWriter(this, length)
    this.#writer = writer
    // Together with the part of the body that comes at once; the rest may take its time.
    setImmediate(() => {
      if (!writer.hasWritten && !this.isOver) this.#wire.showHead()
    })
    return writer
  }

  informational(head: ResponseHead): void {
    const isInterim = Number.isInteger(head.status) && head.status >= 102 && head.status <= 199
    if (!isInterim || this.#answeredBy !== undefined || this.isOver) return
    // The guard knows final statuses only.
    const { fields } = this.#context.heads.of({ status: 200, headers: head.headers })
    this.#call(() => this.#wire.informational({ status: head.status, fields }))
  }

  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else this.#call(() => listener(this.#ending === 'aborted'))
  }

  liftAnswerLimit(): void {
    this.#hasAnswerLimit = false
    this.#cutIfLeft()
  }

  /** Marks the request as answered by something other than a response. False: the client has disconnected. */
  switchOver(): boolean {
    if (!this.#claim()) return false
    this.#hasSwitched = true
    return true
  }

  /** The protocol that the exchange switched to has ended. */
  switchEnded(): void {
    this.#settle(false)
  }

  /** Answers in place of the application and closes the connection. Does nothing once the response has begun. */
  refuse(status: number, code: string, failure?: Error): void {
    if (this.isOver || this.#answeredBy !== undefined) return
    this.#answeredBy = 'engine'
    this.#context.refused({ status, code, ...this.#received, request: this.#request })
    this.#closesAfter = true
    this.#body?.fail(failure ?? new HttpError('HTTP_ABORTED', `the request was refused: ${code}`))
    const head = this.#context.heads.of({ status, headers: refusalFields(status) })
    this.#answer(head, Buffer.from(`${statusLine(status)}\n`))
  }

  /** Answers a request in place of the application, which must not see it. */
  answerForServer(status: number, code: string, headers: HeaderList): void {
    this.#answeredBy = 'engine'
    this.#context.refused({ status, code, ...this.#received, request: undefined })
    this.#answer(this.#context.heads.of({ status, headers }), empty)
  }

  cut(reason?: Error): void {
    if (reason !== undefined) this.#context.problem(reason)
    if (this.#ending !== 'none') return
    this.#wire.cut()
    this.#settle(true)
  }

  check(now: number, limits: EngineLimits): void {
    if (this.#ending !== 'none' || this.#hasSwitched) return
    if (this.#afterLinger !== undefined) {
      if (now > this.#lingerUntil || (this.#body?.receivedBytes ?? 0) > LINGER_BYTES) this.#lingered()
    } else if (this.#answeredBy === undefined) {
      const isLimited = this.#hasAnswerLimit || this.#body?.isOpen === true
      if (isLimited && now - this.#watchedSince > limits.requestTimeoutMs) this.#expire()
      else if (now - (this.#halfClosedAt ?? now) > limits.requestTimeoutMs) this.cut()
    } else if (this.#isDeserted(now)) {
      this.cut()
    } else if (now - (this.#writer?.blockedSince ?? this.#endedAt ?? now) > limits.idleTimeoutMs) {
      this.cut()
    } else if (this.#body?.hasStalled(now, this.#watchedSince, limits.requestTimeoutMs) === true) {
      this.cut()
    }
  }

  bodyTooLarge(): void {
    // The reader of the body knows of the failure and may have responded; if not, the response is sent here.
    setImmediate(() => {
      if (this.#answeredBy === undefined) this.refuse(413, 'body_too_large')
    })
  }

  bodyEnded(): void {
    if (this.#afterLinger !== undefined) this.#lingered()
  }

  problem(error: unknown): void {
    this.#context.problem(error)
  }

  lastSlice(chunk: Uint8Array | undefined, trailers: HeaderList): void {
    if (!this.#mustLinger) {
      this.#end(chunk, trailers)
      return
    }
    if (chunk !== undefined) this.#wire.out.write(chunk)
    this.#linger(() => this.#end(undefined, trailers))
  }

  #claim(): boolean {
    if (this.#answeredBy === 'app') throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    const isFree = this.#answeredBy === undefined && !this.isOver
    this.#answeredBy ??= 'app'
    return isFree
  }

  /** True if the connection ends with this response. */
  get #closes(): boolean {
    return this.#closesAfter || this.#wire.wantsClose || this.#context.isDraining
  }

  /** Closing a connection on which the client still sends would take the response from it. */
  get #mustLinger(): boolean {
    return this.#body?.isOpen === true && this.#closes && !this.#wire.isMultiplexed
  }

  #framing(length: number | undefined): Framing {
    if (length === undefined && this.#wire.needsLength) this.#closesAfter = true
    this.#hasClosed = this.#closes
    return { length, closes: this.#hasClosed }
  }

  #hasNoBody(status: number): boolean {
    return status === 204 || status === 304 || this.#received.method === 'HEAD'
  }

  #answer(head: NodeHead, body: Uint8Array): void {
    if (this.#hasNoBody(head.status)) {
      this.#answerBodiless(head, body.byteLength)
      return
    }
    this.#dropBody()
    this.#wire.head(head, this.#framing(body.byteLength))
    if (body.byteLength <= MAX_LENT_BYTES) {
      // A copy: Node keeps the bytes until the connection takes them, and over HTTP/2 it always writes them later.
      this.lastSlice(body.byteLength === 0 ? undefined : Buffer.from(body), [])
    } else if (body.byteLength <= MAX_SLICE_BYTES) {
      this.lastSlice(body, [])
    } else {
      this.#writer = new NodeWriter(this, body.byteLength)
      this.#writer.end(body)
    }
  }

  /** HEAD, 204 and 304 (RFC 9110 sections 8.6, 9.3.2, 15.3.5 and 15.4.5). */
  #answerBodiless(head: NodeHead, length: number | undefined): void {
    this.#dropBody()
    const isHead = head.status !== 204 && head.status !== 304
    this.#wire.bodiless(head, this.#framing(isHead ? length : undefined))
    // In HTTP/2 it is complete with its head, whatever becomes of the stream.
    if (this.#wire.isMultiplexed) {
      this.#endedAt = performance.now()
      this.#finished()
    } else if (this.#mustLinger) this.#linger(() => this.#end(undefined, []))
    else this.#end(undefined, [])
  }

  #end(chunk: Uint8Array | undefined, trailers: HeaderList): void {
    if (this.#ending !== 'none') return
    this.#endedAt = performance.now()
    this.#wire.end(chunk, guardTrailers(trailers))
  }

  /** Waits until the request is read to its end, or long enough. */
  #linger(act: () => void): void {
    this.#afterLinger = act
    this.#lingerUntil = performance.now() + LINGER_MS
    this.#dropBody()
  }

  #lingered(): void {
    const act = this.#afterLinger
    this.#afterLinger = undefined
    if (!this.isOver) act?.()
  }

  /** The unread rest of the request is not needed any more. */
  #dropBody(): void {
    const body = this.#body
    if (body === undefined) return
    this.#call(() => body.fail(new HttpError('HTTP_ABORTED', 'the response was sent before the request body was complete')))
    body.discard()
  }

  #expire(): void {
    if (this.#body?.isOpen) {
      const failure = new HttpError('HTTP_REQUEST_TIMEOUT', 'the request did not arrive in time')
      this.refuse(408, 'request_timeout', failure)
    } else {
      this.refuse(504, 'response_timeout')
    }
  }

  /**
   * Where no limit ends the wait for a response, a client that half-closes before the response starts counts as disconnected: work for it
   * stops.
   */
  #cutIfLeft(): void {
    if (this.#halfClosedAt === undefined || this.#hasAnswerLimit || this.#answeredBy !== undefined) return
    if (this.#body?.isOpen !== true) this.cut()
  }

  /** Only writing shows whether a client is still there that has half-closed. */
  #isDeserted(now: number): boolean {
    if (this.#halfClosedAt === undefined || this.#writer === undefined || this.#writer.blockedSince !== undefined) return false
    return now - Math.max(this.#halfClosedAt, this.#writer.wroteAt) > DESERTED_MS
  }

  #finished(): void {
    // A stream that Node ends by itself (after a reset, or for a HEAD request) is not complete.
    if (this.#hasSwitched || this.#endedAt === undefined) return
    if (this.#wire.isMultiplexed && this.#body?.isOpen === true) this.#wire.stopRequest()
    this.#settle(false)
  }

  #outClosed(): void {
    if (!this.#hasSwitched) this.#settle(true)
  }

  /** Tells everybody, once, that the response is written or will never be. */
  #settle(isAborted: boolean): void {
    if (this.#ending !== 'none') return
    this.#ending = isAborted || this.#answeredBy === 'engine' ? 'aborted' : 'written'
    const why = isAborted ? 'the client went away' : 'the response was sent before the request body was complete'
    this.#call(() => this.#body?.fail(new HttpError('HTTP_ABORTED', why)))
    this.#body?.discard()
    this.#call(() => this.#writer?.gone())
    const listener = this.#onClosed
    this.#onClosed = undefined
    if (listener !== undefined) this.#call(() => listener(this.#ending === 'aborted'))
    this.#wire.over()
    this.#context.released(this)
  }

  #call(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#context.problem(error)
    }
  }
}
