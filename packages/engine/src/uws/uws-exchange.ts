import type { HttpResponse } from 'uWebSockets.js'
import { systemClock } from '@svc/core'
import { type BodyWriter, MAX_LENT_BYTES, type ResponseHead, type StreamOptions } from '@svc/http'
import type { BodySize } from '../exchange/body-reader.ts'
import { EngineExchange } from '../exchange/engine-exchange.ts'
import type { EngineLimits } from '../exchange/exchange-watch.ts'
import { Lingering } from '../exchange/lingering.ts'
import type { ReadyResponse } from '../exchange/ready-responses.ts'
import type { RequestGate } from '../exchange/request-gate.ts'
import { type HeaderBlock, readyHeadOf } from '../exchange/response-head.ts'
import { discardingWriter } from '../exchange/stream-writer.ts'
import { ChunkedWriter } from './chunked-writer.ts'
import { endLast, isClosedByLibrary, renewPatience, writeLastHead } from './closing.ts'
import { type ResponsePort, SizedWriter } from './sized-writer.ts'
import { UwsBody, type UwsBodyOwner } from './uws-body.ts'
import type { UwsContext } from './uws-context.ts'
import { MAX_SINGLE_BYTES, writeHead, writeWhole, writeWholeCorked } from './whole-response.ts'

/**
 * One request and its response on uWebSockets.js. Where the connection closes behind the response, because the client wants it or nothing
 * that comes behind this request can be trusted, no further request of the connection may run.
 */
export class UwsExchange
  extends EngineExchange<HeaderBlock, UwsContext, UwsBody, ChunkedWriter | SizedWriter>
  implements ResponsePort, UwsBodyOwner
{
  readonly res: HttpResponse
  /** The library closes the connection by itself. */
  #isClosedByLibrary = false
  /** Of the peer, once the library has been given a whole response behind which it closes the connection. */
  #closedAddress: string | undefined
  #isInHandler = true
  #renewAt = 0
  isOver = false

  constructor(context: UwsContext, listener: string, res: HttpResponse) {
    super(context, listener)
    this.res = res
  }

  /** Sets the results of parsing the request line and the fields. */
  open(method: string, target: string, gate: Pick<RequestGate, 'wantsClose' | 'connection' | 'isChunked'>): void {
    this.method = method
    this.target = target
    this.#isClosedByLibrary = isClosedByLibrary(gate)
    this.closesAfter = gate.isChunked || gate.wantsClose || this.#isClosedByLibrary
  }

  /** Begins to receive the body. */
  receiveBody(size: BodySize): void {
    this.received = new UwsBody(this.res, this, this.context.bodies, size)
  }

  /** Takes over a ready response; one of the following methods sends it. */
  takeOver(onClosed: ((isAborted: boolean) => void) | undefined): void {
    this.answeredBy = 'app'
    this.onClosed(onClosed)
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
    this.closesAfter = true
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
    if (this.#closedAddress !== undefined) this.context.closeGuard.arm(this.#closedAddress)
    if (this.isOver) return
    this.watchedSince = systemClock.turn()
    this.context.watch(this)
  }

  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    const block = this.context.heads.of(head)
    if (!this.claim()) return discardingWriter
    if (options?.length === 0 || this.hasNoBody(block.status)) {
      this.#answerBodiless(block, options?.length)
      return discardingWriter
    }
    if (options?.length === undefined) return this.#use(this.#chunkedWriter(block))
    return this.#use(this.#sizedWriter(block, options.length)).start()
  }

  remoteAddress(): string {
    return this.isOver || this.ending !== 'none' ? '' : this.context.peers.read(this.res)
  }

  /** Answers by something other than a response, which detaches it from the library. False: the client has disconnected. */
  switchOver(act: (res: HttpResponse) => void): boolean {
    if (!this.claim()) return false
    this.request.remoteAddress
    this.isOver = true
    // Not corked: behind the cork the library reads the state of a response that no longer exists, and may close the connection.
    act(this.res)
    return true
  }

  /** The protocol that it switched to has ended. */
  switchEnded(): void {
    this.settle(false)
    this.context.released(this)
  }

  /** The client disconnected, or the connection was cut. */
  aborted(): void {
    this.#release(true)
  }

  completed(): void {
    this.#release(false)
  }

  beforeEnd(): void {
    this.received?.resume()
  }

  flushed(isBuffered = false): void {
    this.settle(false)
    this.#linger(() => this.cut(), isBuffered)
  }

  cut(reason?: Error): void {
    if (reason !== undefined) this.context.problem(reason)
    if (this.isOver) return
    this.res.close()
    // Within the handler the library has no listener yet to tell.
    if (this.#isInHandler) this.aborted()
  }

  override check(now: number, limits: EngineLimits): void {
    if (this.isOver) return
    super.check(now, limits)
    const isRenewed = !this.isOver && this.blockedSince !== undefined && this.received?.isOpen !== true
    if (isRenewed) this.#renewAt = renewPatience(this.res, now, this.#renewAt)
  }

  beforePause(): void {
    if (this.writer === undefined) this.res.onWritable(() => true)
  }

  protected answer(block: HeaderBlock, body: Uint8Array): void {
    this.dropBody()
    const { byteLength } = body
    if (byteLength === 0 || this.hasNoBody(block.status)) this.#answerBodiless(block, byteLength)
    else if (byteLength <= MAX_SINGLE_BYTES && !this.closes) this.#endNow(block, body)
    else if (byteLength <= MAX_SINGLE_BYTES && this.#isInHandler && this.received === undefined) this.#endLastNow(block, body)
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
    if (this.closes) this.res.writeHeader('Connection', 'close')
  }

  /** HEAD, 204, 304 (RFC 9110 sections 8.6, 9.3.2, 15.3.5 and 15.4.5), and a body of no bytes. */
  #answerBodiless(block: HeaderBlock, length: number | undefined): void {
    const declared = block.status === 204 || block.status === 304 ? undefined : length
    if (this.closes) this.#endLast(readyHeadOf(block).bytes, declared?.toString())
    // One of them has to wait a turn now and then.
    else if (this.#isInHandler && this.received === undefined && this.context.mustWait())
      this.#linger(() => this.#endBodiless(block, declared))
    else this.#endBodiless(block, declared)
  }

  /** Within the handler: the response leaves together with those before, also when requests behind it have come with it. */
  #endLastNow(block: HeaderBlock, body: Uint8Array): void {
    this.#closedAddress = this.context.peers.read(this.res)
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

  #release(isAborted: boolean): void {
    if (this.isOver) return
    this.isOver = true
    this.settle(isAborted)
    this.context.released(this)
  }

  /** @param isLong see `Lingering` */
  #linger(act: () => void, isLong = false): void {
    this.dropBody()
    this.lingering = new Lingering(this, act, this.received?.isOpen === true, isLong)
  }

  #chunkedWriter(block: HeaderBlock): ChunkedWriter {
    return new ChunkedWriter(this, {
      bytes: block.name.length + block.rest.length,
      write: () => this.#writeClosingHead(block),
      closes: () => this.closes,
      isClosedByLibrary: this.#isClosedByLibrary && this.received === undefined,
      endWhole: (body) => this.answer(block, body),
    })
  }

  #sizedWriter(block: HeaderBlock, length: number): SizedWriter {
    return new SizedWriter(this, () => this.#writeClosingHead(block), length, this.closes)
  }

  #use<Writer extends ChunkedWriter | SizedWriter>(writer: Writer): Writer {
    this.writer = writer
    this.res.onWritable(() => {
      this.call(() => writer.writable())
      return true
    })
    return writer
  }
}
