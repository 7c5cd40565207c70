import type { HttpResponse } from 'uWebSockets.js'
import { performance } from 'node:perf_hooks'
import {
  type BodyWriter,
  HttpError,
  type HttpExchange,
  type RequestBody,
  type ResponseHead,
  type StreamOptions,
  type WebSocketOffer,
} from '@svc/http'
import { discardingWriter } from '../discarding-writer.ts'
import type { EngineLimits } from '../engine.ts'
import type { EngineRequest, PeerSource } from '../engine-request.ts'
import type { WatchedExchange } from '../exchange-watch.ts'
import type { HeaderBlock } from '../header-block.ts'
import { LINGER_BYTES, LINGER_MS } from '../linger.ts'
import { noBody } from '../no-body.ts'
import { refusalFields } from '../refusal-fields.ts'
import type { RequestGate } from '../request-gate.ts'
import { ChunkedWriter } from './chunked-writer.ts'
import { type Closing, isClosedByLibrary } from './closing.ts'
import type { ExchangeContext } from './exchange-context.ts'
import { renewPatience } from './library-patience.ts'
import type { ResponsePort, WriterSide } from './response-port.ts'
import { MAX_SINGLE_BYTES } from './single-write.ts'
import { SizedWriter } from './sized-writer.ts'
import { type BodyOwner, UwsBody } from './uws-body.ts'
import { writeHead, writeWhole, writeWholeCorked } from './whole-answer.ts'

const empty = new Uint8Array(0)

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
  /** The client wants the connection closed after the response. */
  #wantsClose = false
  /** Who closes it if it is to be closed. */
  #closing: Closing = 'closes'
  /** No further request may be taken from this connection, whatever the bytes behind this one say. */
  #stopsParser = false
  #isInHandler = true
  #watchedSince = 0
  #lingerUntil = 0
  #renewAt = 0
  #hasAnswerLimit = true
  #afterLinger: (() => void) | undefined
  isOver = false

  constructor(context: ExchangeContext, listener: string, res: HttpResponse) {
    this.#context = context
    this.#listener = listener
    this.res = res
    context.began()
  }

  get request(): EngineRequest {
    if (this.#request === undefined) throw new HttpError('HTTP_MISUSE', 'a refused request has no contents')
    return this.#request
  }

  get body(): RequestBody {
    return this.#body ?? noBody
  }

  get isAnswered(): boolean {
    return this.#answeredBy !== undefined
  }

  /** Sets what the request line and the fields said. */
  open(method: string, target: string, gate: Pick<RequestGate, 'wantsClose' | 'connection' | 'isChunked'>): void {
    this.#method = method
    this.#target = target
    if (isClosedByLibrary(gate)) this.#closing = 'closesItself'
    this.#wantsClose = gate.wantsClose || this.#closing === 'closesItself'
    this.#stopsParser = gate.isChunked
  }

  /** Begins to receive the body. */
  receiveBody(length: number | undefined, maxBytes: number): void {
    this.#body = new UwsBody(this.res, this, this.#context.bodies, { length, maxBytes })
  }

  /** Hands the request over to the application. */
  admit(request: EngineRequest): void {
    this.#request = request
  }

  /** Goes on with a ready response that the client takes slowly: its head and a part of its body have been handed over. */
  takeOver(body: Uint8Array, onClosed: (isAborted: boolean) => void): void {
    this.#answeredBy = 'app'
    this.#onClosed = onClosed
    this.#resume(body)
  }

  /** Writes a ready response without a body a turn later. */
  takeOverLater(write: () => void, onClosed: (isAborted: boolean) => void): void {
    this.#answeredBy = 'app'
    this.#onClosed = onClosed
    this.#linger(() => {
      this.res.cork(write)
      this.completed()
    })
  }

  /** The handler of uWebSockets.js returns: what is not answered by now is watched. */
  handlerReturned(): void {
    this.#isInHandler = false
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
    if (this.#isBodiless(block)) {
      this.#answerBodiless(block, options?.length)
      return discardingWriter
    }
    if (options?.length === 0) {
      this.#answer(block, empty)
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
    this.#stopsParser = true
    const remoteAddress = this.#request?.remoteAddress ?? this.remoteAddress()
    const facts = { listener: this.#listener, remoteAddress, method: this.#method, target: this.#target, request: this.#request }
    this.#context.refused({ status, code, ...facts })
    this.#body?.fail(failure ?? new HttpError('HTTP_ABORTED', `the request was refused: ${code}`))
    const block = this.#context.blocks.of({ status, headers: refusalFields(status) })
    this.#answer(block, Buffer.from(`${block.statusLine}\n`))
  }

  /** Answers by something other than a response, with which the library lets go of it. False: there is nobody to answer. */
  switchOver(act: (res: HttpResponse) => void): boolean {
    if (!this.#claim()) return false
    this.#request?.remoteAddress
    this.isOver = true
    // Not corked: behind the cork the library reads the state of a response that is none any more, and may close the connection.
    act(this.res)
    return true
  }

  /** What it was switched over to has ended. */
  switchEnded(): void {
    this.#settle(false)
    this.#context.released(this)
  }

  /** The client is gone, or the connection was cut. */
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

  flushed(): void {
    this.#settle(false)
    this.#linger(() => this.cut())
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
    if (this.#afterLinger !== undefined) {
      if (now > this.#lingerUntil || (this.#body?.receivedBytes ?? 0) > LINGER_BYTES) this.#lingered()
    } else if (this.#answeredBy === undefined) {
      const isLimited = this.#hasAnswerLimit || this.#body?.isOpen === true
      if (isLimited && now - this.#watchedSince > limits.requestTimeoutMs) this.#expire()
    } else if (this.#writer?.blockedSince !== undefined) {
      if (now - this.#writer.blockedSince > limits.idleTimeoutMs) this.cut()
      else if (this.#body?.isOpen !== true) this.#renewAt = renewPatience(this.res, now, this.#renewAt)
    } else if (this.#body?.hasStalled(now, this.#watchedSince, limits.requestTimeoutMs)) this.cut()
  }

  bodyRefused(status: number, code: string): void {
    // Whoever reads the body has been told and may answer; if not, the answer is given here.
    setImmediate(() => {
      if (this.#answeredBy === undefined) this.refuse(status, code)
    })
  }

  bodyEnded(): void {
    if (this.#afterLinger !== undefined) setImmediate(() => this.#lingered())
  }

  problem(error: unknown): void {
    this.#context.problem(error)
  }

  beforePause(): void {
    if (this.#writer === undefined) this.res.onWritable(() => true)
  }

  #claim(): boolean {
    if (this.#answeredBy === 'app') throw new HttpError('HTTP_MISUSE', 'a request was answered twice')
    const isFree = this.#answeredBy === undefined && !this.isOver
    this.#answeredBy ??= 'app'
    return isFree
  }

  /** Whether the connection ends with this response. */
  get #closes(): boolean {
    return this.#stopsParser || this.#wantsClose || this.#context.isDraining
  }

  /** Whether the response is kept pending for the library until the connection is closed. */
  get #holds(): boolean {
    return this.#stopsParser || (this.#closes && this.#body?.isOpen === true)
  }

  /** Whether an answer without a body has to wait a turn. */
  get #mustWait(): boolean {
    return this.#isInHandler && this.#body === undefined && this.#context.mustWait()
  }

  #isBodiless(block: HeaderBlock): boolean {
    return block.status === 204 || block.status === 304 || this.#method === 'HEAD'
  }

  #answer(block: HeaderBlock, body: Uint8Array): void {
    if (this.#body !== undefined) this.#stopBody('the request was answered before its end')
    const { byteLength } = body
    // Whose connection is closed behind it by the engine, that waits until the client has taken it.
    const isWhole = byteLength <= MAX_SINGLE_BYTES && (!this.#closes || this.#closing === 'closesItself') && !this.#holds
    if (this.#isBodiless(block)) this.#answerBodiless(block, byteLength)
    else if (byteLength === 0 && (this.#holds || this.#mustWait)) this.#linger(() => this.#endNow(block, empty, this.#closes))
    else if (isWhole || byteLength === 0) this.#endNow(block, body, this.#closes)
    else this.#use(this.#sizedWriter(block, byteLength)).end(body)
  }

  #resume(body: Uint8Array): void {
    this.#use(new SizedWriter(this, () => undefined, body.byteLength, false)).resume(body)
  }

  #endNow(block: HeaderBlock, body: Uint8Array, closes: boolean): void {
    this.beforeEnd()
    const closing = closes ? this.#closing : 'stays'
    const write = this.#isInHandler ? writeWhole : writeWholeCorked
    if (write(this.res, block, body, closing)) this.completed()
    else this.#resume(body)
  }

  #writeClosingHead(block: HeaderBlock): void {
    writeHead(this.res, block)
    if (this.#closes) this.res.writeHeader('Connection', 'close')
  }

  /** HEAD, 204 and 304 (RFC 9110 sections 8.6, 9.3.2, 15.3.5 and 15.4.5). */
  #answerBodiless(block: HeaderBlock, length: number | undefined): void {
    const isHead = this.#method === 'HEAD' && block.status !== 204 && block.status !== 304
    if (isHead && length !== undefined && this.#closes && length > 0) {
      this.#use(this.#sizedWriter(block, length)).start()
      this.flushed()
    } else if (this.#holds || this.#mustWait) {
      this.#linger(() => this.#endBodiless(block, isHead ? length : undefined))
    } else {
      this.#endBodiless(block, isHead ? length : undefined)
    }
  }

  #endBodiless(block: HeaderBlock, length: number | undefined): void {
    this.beforeEnd()
    this.res.cork(() => {
      this.#writeClosingHead(block)
      if (length !== undefined) this.res.writeHeader('Content-Length', String(length))
      this.res.endWithoutBody()
    })
    this.completed()
  }

  /**
   * Waits until the request is read to its end, or long enough, then acts in a tick of its own: whatever the parser takes for
   * a request behind this one finds it pending until then.
   */
  #linger(act: () => void): void {
    this.#stopBody('the request was answered before its end')
    this.#afterLinger = act
    if (this.#body?.isOpen) this.#lingerUntil = performance.now() + LINGER_MS
    else setImmediate(() => this.#lingered())
  }

  #lingered(): void {
    const act = this.#afterLinger
    this.#afterLinger = undefined
    if (!this.isOver) act?.()
  }

  #stopBody(why: string): void {
    this.#call(() => this.#body?.fail(new HttpError('HTTP_ABORTED', why)))
  }

  #chunkedWriter(block: HeaderBlock): ChunkedWriter {
    const headBytes = block.name.length + block.rest.length
    return new ChunkedWriter(this, () => this.#writeClosingHead(block), headBytes, {
      isOpen: () => !this.#holds,
      whenOpen: (proceed) => {
        if (this.#holds) this.#linger(proceed)
        else proceed()
      },
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
    if (this.#body !== undefined) this.#stopBody(isAborted ? 'the client went away' : 'the request was answered before its end')
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
