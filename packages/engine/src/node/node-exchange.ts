import {
  type BodyWriter,
  guardTrailers,
  type HeaderList,
  HttpError,
  MAX_LENT_BYTES,
  type ResponseHead,
  type StreamOptions,
} from '@svc/http'
import type { BodyOwner, BodySize } from '../exchange/body-reader.ts'
import { EngineExchange, type ExchangeContext } from '../exchange/engine-exchange.ts'
import type { EngineLimits } from '../exchange/exchange-watch.ts'
import { Lingering } from '../exchange/lingering.ts'
import { discardingWriter } from '../exchange/stream-writer.ts'
import { type BodySource, NodeBody } from './node-body.ts'
import type { NodeHead, NodeHeads } from './node-head.ts'
import { MAX_SLICE_BYTES, NodeWriter, type NodeWriterPort } from './node-writer.ts'
import type { Framing, ResponseWire } from './response-wire.ts'
import type { WebSocketHub } from './web-socket-hub.ts'

/** State shared by all exchanges of one engine. */
export interface NodeContext extends ExchangeContext<NodeHead> {
  readonly heads: NodeHeads
  readonly webSockets: WebSocketHub
  /** The number of a connection that has been opened. */
  numberConnection(): number
}

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
export class NodeExchange
  extends EngineExchange<NodeHead, NodeContext, NodeBody, NodeWriter>
  implements NodeWriterPort, BodyOwner
{
  readonly #wire: ResponseWire
  readonly #remoteAddress: string
  /** When everything was handed over that the peer has to take before the response is complete. */
  #endedAt: number | undefined
  /** True if the response says that the connection ends with it. Written here alone. */
  hasClosed = false
  #hasSwitched = false
  #halfClosedAt: number | undefined

  constructor(context: NodeContext, wire: ResponseWire, { listener, remoteAddress, method, target }: ReceivedRequest) {
    super(context, listener)
    this.#wire = wire
    this.#remoteAddress = remoteAddress
    this.method = method
    this.target = target
    this.watchedSince = performance.now()
    wire.out.once('finish', () => this.#finished())
    wire.out.once('close', () => {
      if (!this.#hasSwitched) this.settle(true)
    })
    context.watch(this)
  }

  get out(): ResponseWire['out'] {
    return this.#wire.out
  }

  get isOver(): boolean {
    return this.ending !== 'none' || this.#wire.isGone
  }

  remoteAddress(): string {
    return this.#remoteAddress
  }

  /** Begins to receive the body. */
  receiveBody(source: BodySource, size: BodySize): void {
    this.received = new NodeBody(source, this, size)
  }

  /** The application has started: from now on the exchange waits for it. */
  handlerReturned(): void {
    this.watchedSince = performance.now()
  }

  /** Answers with a ready response that may be taken slowly. */
  takeOver(head: NodeHead, body: Uint8Array, onClosed: (isAborted: boolean) => void): void {
    this.answeredBy = 'app'
    this.onClosed(onClosed)
    this.answer(head, body)
  }

  /** The client sends nothing more: it may be gone, or wait for the rest of its response. */
  halfClosed(): void {
    this.#halfClosedAt ??= performance.now()
    this.#cutIfLeft()
  }

  /** The bytes on the connection can no longer be parsed: if they belong to the body of this request, the body is broken. */
  inputFailed(): void {
    if (this.received?.isOpen !== true) return
    this.closesAfter = true
    this.received.abandon(new HttpError('HTTP_BAD_REQUEST', 'the request body is malformed'))
    this.bodyRefused(400, 'bad_body')
  }

  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    const safe = this.context.heads.of(head)
    if (!this.claim()) return discardingWriter
    const length = options?.length
    if (this.hasNoBody(safe.status)) {
      this.#answerBodiless(safe, length)
      return discardingWriter
    }
    if (length === 0) {
      this.answer(safe, empty)
      return discardingWriter
    }
    this.#wire.head(safe, this.#framing(length))
    const writer = new NodeWriter(this, length)
    this.writer = writer
    // Together with the part of the body that comes at once; the rest may take its time.
    setImmediate(() => {
      if (!writer.hasWritten && !this.isOver) this.#wire.showHead()
    })
    return writer
  }

  informational(head: ResponseHead): void {
    const isInterim = Number.isInteger(head.status) && head.status >= 102 && head.status <= 199
    if (!isInterim || this.answeredBy !== undefined || this.isOver) return
    // The guard knows final statuses only.
    const { fields } = this.context.heads.of({ status: 200, headers: head.headers })
    this.call(() => this.#wire.informational({ status: head.status, fields, http2: undefined }))
  }

  override liftAnswerLimit(): void {
    super.liftAnswerLimit()
    this.#cutIfLeft()
  }

  /** Marks the request as answered by something other than a response. False: the client has disconnected. */
  switchOver(): boolean {
    if (!this.claim()) return false
    this.#hasSwitched = true
    return true
  }

  /** The protocol that the exchange switched to has ended. */
  switchEnded(): void {
    this.settle(false)
  }

  /** Answers a request in place of the application, which must not see it. */
  answerForServer(status: number, code: string, headers: HeaderList): void {
    this.answeredBy = 'engine'
    this.reportRefusal(status, code)
    this.answer(this.context.heads.of({ status, headers }), empty)
  }

  cut(reason?: Error): void {
    if (reason !== undefined) this.context.problem(reason)
    if (this.ending !== 'none') return
    this.#wire.cut()
    this.settle(true)
  }

  override check(now: number, limits: EngineLimits): void {
    const halfClosedAt = this.#halfClosedAt
    super.check(now, limits)
    if (halfClosedAt === undefined || this.ending !== 'none' || this.lingering?.isPending === true) return
    if (this.answeredBy === undefined ? now - halfClosedAt > limits.requestTimeoutMs : this.#isDeserted(now, halfClosedAt))
      this.cut()
  }

  lastSlice(chunk: Uint8Array | undefined, trailers: HeaderList): void {
    // Closing a connection on which the client still sends would take the response from it.
    const mustLinger = this.received?.isOpen === true && this.closes && !this.#wire.isMultiplexed
    if (!mustLinger) {
      this.#end(chunk, trailers)
      return
    }
    if (chunk !== undefined) this.#wire.out.write(chunk)
    this.lingering = new Lingering(this, () => this.#end(undefined, trailers), true, false)
    this.dropBody()
  }

  protected override get blockedSince(): number | undefined {
    return super.blockedSince ?? this.#endedAt
  }

  protected override get closes(): boolean {
    return super.closes || this.#wire.wantsClose
  }

  #framing(length: number | undefined): Framing {
    if (length === undefined && this.#wire.needsLength) this.closesAfter = true
    this.hasClosed = this.closes
    return { length, closes: this.hasClosed }
  }

  protected answer(head: NodeHead, body: Uint8Array): void {
    if (this.hasNoBody(head.status)) {
      this.#answerBodiless(head, body.byteLength)
      return
    }
    this.dropBody()
    this.#wire.head(head, this.#framing(body.byteLength))
    if (body.byteLength <= MAX_LENT_BYTES) {
      // A copy: Node keeps the bytes until the connection takes them, and over HTTP/2 it always writes them later.
      this.lastSlice(body.byteLength === 0 ? undefined : Buffer.from(body), [])
    } else if (body.byteLength <= MAX_SLICE_BYTES) {
      this.lastSlice(body, [])
    } else {
      this.writer = new NodeWriter(this, body.byteLength)
      this.writer.end(body)
    }
  }

  /** HEAD, 204 and 304 (RFC 9110 sections 8.6, 9.3.2, 15.3.5 and 15.4.5). */
  #answerBodiless(head: NodeHead, length: number | undefined): void {
    this.dropBody()
    const isHead = head.status !== 204 && head.status !== 304
    this.#wire.bodiless(head, this.#framing(isHead ? length : undefined))
    // In HTTP/2 it is complete with its head, whatever becomes of the stream.
    if (this.#wire.isMultiplexed) {
      this.#endedAt = performance.now()
      this.#finished()
    } else this.lastSlice(undefined, [])
  }

  #end(chunk: Uint8Array | undefined, trailers: HeaderList): void {
    if (this.ending !== 'none') return
    this.#endedAt = performance.now()
    this.#wire.end(chunk, guardTrailers(trailers))
  }

  /**
   * Where no limit ends the wait for a response, a client that half-closes before the response starts counts as disconnected: work for it
   * stops.
   */
  #cutIfLeft(): void {
    if (this.#halfClosedAt === undefined || this.hasAnswerLimit || this.answeredBy !== undefined) return
    if (this.received?.isOpen !== true) this.cut()
  }

  /** Only writing shows whether a client is still there that has half-closed. */
  #isDeserted(now: number, halfClosedAt: number): boolean {
    if (this.writer === undefined || this.writer.blockedSince !== undefined) return false
    return now - Math.max(halfClosedAt, this.writer.wroteAt) > DESERTED_MS
  }

  #finished(): void {
    // A stream that Node ends by itself (after a reset, or for a HEAD request) is not complete.
    if (this.#hasSwitched || this.#endedAt === undefined) return
    if (this.#wire.isMultiplexed && this.received?.isOpen === true) this.#wire.stopRequest()
    this.settle(false)
  }

  protected override settle(isAborted: boolean): boolean {
    if (!super.settle(isAborted)) return false
    this.#wire.over()
    this.context.released(this)
    return true
  }
}
