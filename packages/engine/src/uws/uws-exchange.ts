import type { HttpResponse } from 'uWebSockets.js'
import { performance } from 'node:perf_hooks'
import {
  type BodyWriter,
  HttpError,
  type HttpExchange,
  MAX_LENT_BYTES,
  noBody,
  type RequestBody,
  type ResponseHead,
  type StreamOptions,
  type WebSocketOffer,
} from '@svc/http'
import { discardingWriter } from '../exchange/chunk-queue.ts'
import type { EngineRequest, PeerSource } from '../exchange/engine-request.ts'
import { type HeaderBlock, readyHeadOf } from '../exchange/header-block.ts'
import type { ReadyResponse } from '../exchange/ready-responses.ts'
import type { RequestGate } from '../exchange/request-gate.ts'
import { refusalFields } from '../exchange/response-head.ts'
import type { EngineLimits } from '../listener/engine.ts'
import type { WatchedExchange } from '../listener/exchange-watch.ts'
import { ChunkedWriter } from './chunked-writer.ts'
import { endLast, isClosedByLibrary, Lingering, renewPatience, writeLastHead } from './closing.ts'
import type { ExchangeContext } from './exchange-context.ts'
import type { ResponsePort, WriterSide } from './response-port.ts'
import { SizedWriter } from './sized-writer.ts'
import { type BodyOwner, UwsBody } from './uws-body.ts'
import { MAX_SINGLE_BYTES, writeHead, writeWhole, writeWholeCorked } from './whole-answer.ts'

const empty = new Uint8Array(0)
const ANSWERED_EARLY = 'the response was sent before the request body was complete'

/** One request and its response on uWebSockets.js. */
export class UwsExchange implements HttpExchange, ResponsePort, BodyOwner, PeerSource, WatchedExchange {
  readonly res: HttpResponse
  watchPlace: number | undefined
  webSocket: WebSocketOffer | undefined
  readonly #context: ExchangeContext
  readonly #listener: string
  #request: EngineRequest | undefined
  #body: UwsBody | undefined
  #writer: (WriterSide & BodyWriter) | undefined
  #onClosed: ((isAborted: boolean) => void) | undefined
  #answeredBy: 'app' | 'engine' | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'
  #method = ''
  #target = ''
  /**
   * The connection closes behind the response: the client wants it, or nothing that comes behind this request can be trusted. No further
   * request of the connection may run.
   */
  #isLast = false
  /** The library closes it by itself. */
  #isClosedByLibrary = false
  /** Of the peer, once the library has been given a whole response behind which it closes the connection. */
  #closedAddress: string | undefined
  #isInHandler = true
  #watchedSince = 0
  #renewAt = 0
  #hasAnswerLimit = true
  #lingering: Lingering | undefined
  isOver = false

  constructor(context: ExchangeContext, listener: string, res: HttpResponse) {
    this.#context = context
    this.#listener = listener
    this.res = res
    context.began()
  }

  get request(): EngineRequest {
    if (this.#request === undefined) throw new HttpError('HTTP_MISUSE', 'a refused request has no content')
    return this.#request
  }

  get body(): RequestBody {
    return this.#body ?? noBody
  }

  get isAnswered(): boolean {
    return this.#answeredBy !== undefined
  }

  /** Sets the results of parsing the request line and the fields. */
  open(method: string, target: string, gate: Pick<RequestGate, 'wantsClose' | 'connection' | 'isChunked'>): void {
    this.#method = method
    this.#target = target
    this.#isClosedByLibrary = isClosedByLibrary(gate)
    this.#isLast = gate.isChunked || gate.wantsClose || this.#isClosedByLibrary
  }

  /** Begins to receive the body. */
  receiveBody(length: number | undefined, maxBytes: number): void {
    this.#body = new UwsBody(this.res, this, this.#context.bodies, { length, maxBytes })
  }

  /** Hands the request over to the application. */
  admit(request: EngineRequest): void {
    this.#request = request
  }

  /** Takes over a ready response; one of the following methods sends it. */
  takeOver(onClosed: ((isAborted: boolean) => void) | undefined): this {
    this.#answeredBy = 'app'
    this.#onClosed = onClosed
    return this
  }

  /** Goes on with one that the client takes slowly: its head and a part of its body have been handed over. */
  resume(body: Uint8Array): void {
    this.#use(new SizedWriter(this, () => undefined, body.byteLength, false)).resume(body)
  }

  /** Writes one without a body a turn later. */
  sendLater(write: () => void): void {
    this.#linger(() => {
      this.res.cork(write)
      this.completed()
    })
  }

  /** Writes one behind which the connection closes. */
  sendLast({ head, body, length }: ReadyResponse): void {
    this.#isLast = true
    if (body === undefined || body.byteLength === 0) {
      this.#endLast(head.bytes, body === undefined ? length || undefined : '0')
      return
    }
    const writeHead = () => {
      this.res.writeStatus(head.bytes)
      this.res.writeHeader('Connection', 'close')
    }
    this.#use(new SizedWriter(this, writeHead, body.byteLength, true)).end(body)
  }

  /** The handler of uWebSockets.js returns: an exchange without a response is watched from now on. */
  handlerReturned(): void {
    this.#isInHandler = false
    if (this.#closedAddress !== undefined) this.#context.closeGuard.arm(this.#closedAddress)
    if (this.isOver) return
    this.#watchedSince = performance.now()
    this.#context.watch(this)
  }

  respond(head: ResponseHead, body: Uint8Array = empty): void {
    if (this.#claim()) this.#answer(this.#context.blocks.of(head), body)
  }

  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    if (!this.#claim()) return discardingWriter
    const block = this.#context.blocks.of(head)
    if (options?.length === 0 || this.#isBodiless(block)) {
      this.#answerBodiless(block, options?.length)
      return discardingWriter
    }
    if (options?.length === undefined) return this.#use(this.#chunkedWriter(block))
    return this.#use(this.#sizedWriter(block, options.length)).start()
  }

  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else this.#call(() => listener(this.#ending === 'aborted'))
  }

  liftAnswerLimit(): void {
    this.#hasAnswerLimit = false
  }

  remoteAddress(): string {
    return this.isOver || this.#ending !== 'none' ? '' : this.#context.peers.read(this.res)
  }

  /** Answers in place of the application and closes the connection. Does nothing once the response has begun. */
  refuse(status: number, code: string, failure?: Error): void {
    if (this.isOver || this.#writer !== undefined || this.#ending !== 'none') return
    this.#answeredBy = 'engine'
    this.#isLast = true
    const remoteAddress = this.#request?.remoteAddress ?? this.remoteAddress()
    const facts = { listener: this.#listener, remoteAddress, method: this.#method, target: this.#target, request: this.#request }
    this.#context.refused({ status, code, ...facts })
    this.#body?.fail(failure ?? new HttpError('HTTP_ABORTED', `the request was refused: ${code}`))
    const block = this.#context.blocks.of({ status, headers: refusalFields(status) })
    this.#answer(block, Buffer.from(`${block.statusLine}\n`))
  }

  /** Answers by something other than a response, which detaches it from the library. False: the client has disconnected. */
  switchOver(act: (res: HttpResponse) => void): boolean {
    if (!this.#claim()) return false
    this.#request?.remoteAddress
    this.isOver = true
    // Not corked: behind the cork the library reads the state of a response that is none any more, and may close the connection.
    act(this.res)
    return true
  }

  /** The protocol that it switched to has ended. */
  switchEnded(): void {
    this.#settle(false)
    this.#context.released(this)
  }

  /** The client disconnected, or the connection was cut. */
  aborted(): void {
    if (this.isOver) return
    this.isOver = true
    this.#settle(true)
    this.#context.released(this)
  }

  completed(): void {
    if (this.isOver) return
    this.isOver = true
    this.#settle(false)
    this.#context.released(this)
  }

  beforeEnd(): void {
    this.#body?.resume()
  }

  flushed(isKept = false): void {
    this.#settle(false)
    this.#linger(() => this.cut(), isKept)
  }

  cut(reason?: Error): void {
    if (reason !== undefined) this.#context.problem(reason)
    if (this.isOver) return
    this.res.close()
    // Within the handler the library has no listener yet to tell.
    if (this.#isInHandler) this.aborted()
  }

  check(now: number, limits: EngineLimits): void {
    if (this.isOver) return
    if (this.#lingering !== undefined) this.#lingering.check(now, this.#body?.receivedBytes ?? 0)
    else if (this.#answeredBy === undefined) {
      const isLimited = this.#hasAnswerLimit || this.#body?.isOpen === true
      if (isLimited && now - this.#watchedSince > limits.requestTimeoutMs) this.#expire()
    } else if (this.#writer?.blockedSince !== undefined) {
      if (now - this.#writer.blockedSince > limits.idleTimeoutMs) this.cut()
      else if (this.#body?.isOpen !== true) this.#renewAt = renewPatience(this.res, now, this.#renewAt)
    } else if (this.#body?.hasStalled(now, this.#watchedSince, limits.requestTimeoutMs)) this.cut()
  }

  bodyRefused(status: number, code: string): void {
    // The reader of the body knows of the failure and may have responded; if not, the response is sent here.
    setImmediate(() => {
      if (this.#answeredBy === undefined) this.refuse(status, code)
    })
  }

  bodyEnded(): void {
    this.#lingering?.requestRead()
  }

  problem(error: unknown): void {
    this.#context.problem(error)
  }

  beforePause(): void {
    if (this.#writer === undefined) this.res.onWritable(() => true)
  }

  #claim(): boolean {
    if (this.#answeredBy === 'app') throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    const isFree = this.#answeredBy === undefined && !this.isOver
    this.#answeredBy ??= 'app'
    return isFree
  }

  /** True if the connection ends with this response. */
  get #closes(): boolean {
    return this.#isLast || this.#context.isDraining
  }

  #isBodiless(block: HeaderBlock): boolean {
    return block.status === 204 || block.status === 304 || this.#method === 'HEAD'
  }

  #answer(block: HeaderBlock, body: Uint8Array): void {
    if (this.#body !== undefined) this.#stopBody(ANSWERED_EARLY)
    const { byteLength } = body
    if (byteLength === 0 || this.#isBodiless(block)) this.#answerBodiless(block, byteLength)
    else if (byteLength <= MAX_SINGLE_BYTES && !this.#closes) this.#endNow(block, body)
    else if (byteLength <= MAX_SINGLE_BYTES && this.#isInHandler && this.#body === undefined) this.#endLastNow(block, body)
    else this.#use(this.#sizedWriter(block, byteLength)).endWhole(body, byteLength <= MAX_LENT_BYTES)
  }

  #endNow(block: HeaderBlock, body: Uint8Array): void {
    this.beforeEnd()
    const write = this.#isInHandler ? writeWhole : writeWholeCorked
    if (write(this.res, block, body)) this.completed()
    else this.resume(Buffer.from(body))
  }

  #writeClosingHead(block: HeaderBlock): void {
    writeHead(this.res, block)
    if (this.#closes) this.res.writeHeader('Connection', 'close')
  }

  /** HEAD, 204, 304 (RFC 9110 sections 8.6, 9.3.2, 15.3.5 and 15.4.5), and a body of no bytes. */
  #answerBodiless(block: HeaderBlock, length: number | undefined): void {
    const declared = block.status === 204 || block.status === 304 ? undefined : length
    if (this.#closes) this.#endLast(readyHeadOf(block).bytes, declared?.toString())
    // One of them has to wait a turn now and then.
    else if (this.#isInHandler && this.#body === undefined && this.#context.mustWait())
      this.#linger(() => this.#endBodiless(block, declared))
    else this.#endBodiless(block, declared)
  }

  /** Within the handler: the response leaves together with those before, also when requests behind it have come with it. */
  #endLastNow(block: HeaderBlock, body: Uint8Array): void {
    this.#closedAddress = this.#context.peers.read(this.res)
    writeHead(this.res, block)
    endLast(this.res, body, this.#isClosedByLibrary)
    this.completed()
  }

  /** Answers without a body and closes the connection. */
  #endLast(head: Uint8Array, length: string | undefined): void {
    this.beforeEnd()
    this.res.cork(() => writeLastHead(this.res, head, length))
    this.flushed()
  }

  #endBodiless(block: HeaderBlock, length: number | undefined): void {
    this.beforeEnd()
    this.res.cork(() => {
      writeHead(this.res, block)
      if (length !== undefined) this.res.writeHeader('Content-Length', String(length))
      this.res.endWithoutBody()
    })
    this.completed()
  }

  /** @param isLong see `Lingering` */
  #linger(act: () => void, isLong = false): void {
    this.#stopBody(ANSWERED_EARLY)
    this.#lingering = new Lingering(this, act, this.#body?.isOpen === true, isLong)
  }

  #stopBody(why: string): void {
    this.#call(() => this.#body?.fail(new HttpError('HTTP_ABORTED', why)))
  }

  #chunkedWriter(block: HeaderBlock): ChunkedWriter {
    return new ChunkedWriter(this, {
      bytes: block.name.length + block.rest.length,
      write: () => this.#writeClosingHead(block),
      closes: () => this.#closes,
      isClosedByLibrary: this.#isClosedByLibrary && this.#body === undefined,
      endWhole: (body) => this.#answer(block, body),
    })
  }

  #sizedWriter(block: HeaderBlock, length: number): SizedWriter {
    return new SizedWriter(this, () => this.#writeClosingHead(block), length, this.#closes)
  }

  #use<Writer extends WriterSide & BodyWriter>(writer: Writer): Writer {
    this.#writer = writer
    this.res.onWritable(() => {
      this.#call(() => writer.writable())
      return true
    })
    return writer
  }

  #expire(): void {
    if (this.#body?.isOpen) {
      this.refuse(408, 'request_timeout', new HttpError('HTTP_REQUEST_TIMEOUT', 'the request did not arrive in time'))
    } else {
      this.refuse(504, 'response_timeout')
    }
  }

  /** Tells everybody, once, that the response is written or will never be. */
  #settle(isAborted: boolean): void {
    if (this.#ending !== 'none') return
    this.#ending = isAborted || this.#answeredBy === 'engine' ? 'aborted' : 'written'
    if (this.#body !== undefined) this.#stopBody(isAborted ? 'the client went away' : ANSWERED_EARLY)
    this.#call(() => this.#writer?.gone())
    const listener = this.#onClosed
    this.#onClosed = undefined
    if (listener !== undefined) this.#call(() => listener(this.#ending === 'aborted'))
  }

  #call(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#context.problem(error)
    }
  }
}
