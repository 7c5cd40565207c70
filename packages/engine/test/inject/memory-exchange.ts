import {
  type BodyWriter,
  type HeaderList,
  HttpError,
  type HttpExchange,
  type ResponseHead,
  type StreamOptions,
  type WebSocketEvents,
  type WebSocketOffer,
  type WebSocketPeer,
} from '@svc/http'
import type { EngineRequest } from '../../src/exchange/engine-request.ts'
import { safeHead } from '../../src/exchange/response-head.ts'
import { discardingWriter } from '../../src/exchange/stream-writer.ts'
import type { MemoryBody } from './memory-body.ts'
import { webSocketPair } from './memory-web-socket.ts'
import { type MemorySink, MemoryWriter } from './memory-writer.ts'

/** A response as a client would have seen it. */
export interface MemoryResponse {
  readonly status: number
  /** Lower-case names; of repeated fields all values, in `headerList`. */
  readonly headers: Readonly<Record<string, string>>
  readonly headerList: HeaderList
  readonly body: Buffer
  readonly text: string
  /** The body as it was written, piece by piece. */
  readonly chunks: readonly Buffer[]
  /** True if the response is incomplete. */
  readonly aborted: boolean
}

/** Events of a memory exchange. */
export interface MemoryEvents {
  readonly onChunk: ((chunk: Buffer, abort: () => void) => void) | undefined
  readonly onProblem: (error: Error) => void
  /** Body bytes that the client takes before a writer has to wait. */
  readonly windowBytes: number
}

/** A WebSocket that was granted, as its client sees it. */
export interface MemoryWebSocket {
  readonly peer: WebSocketPeer
  readonly protocol: string
  /** Further fields of the 101 response. */
  readonly headerList: HeaderList
}

/** An exchange without a socket, with the rules of the real engines. */
export class MemoryExchange implements HttpExchange, MemorySink {
  readonly request: EngineRequest
  readonly body: MemoryBody
  readonly response: Promise<MemoryResponse>
  /** Settles when a WebSocket is granted. */
  readonly switched: Promise<MemoryWebSocket>
  webSocket: WebSocketOffer | undefined
  readonly #events: MemoryEvents
  readonly #resolve: (response: MemoryResponse) => void
  readonly #switch: (socket: MemoryWebSocket) => void
  readonly #chunks: Buffer[] = []
  #head: ResponseHead = { status: 0, headers: [] }
  #contentLength: number | undefined
  #writer: MemoryWriter | undefined
  #onClosed: ((isAborted: boolean) => void) | undefined
  #isAnswered = false
  #ending: 'none' | 'written' | 'aborted' = 'none'

  constructor(request: EngineRequest, body: MemoryBody, events: MemoryEvents) {
    this.request = request
    this.body = body
    this.#events = events
    const { promise, resolve } = Promise.withResolvers<MemoryResponse>()
    this.response = promise
    this.#resolve = resolve
    const switching = Promise.withResolvers<MemoryWebSocket>()
    this.switched = switching.promise
    this.#switch = switching.resolve
  }

  get isOver(): boolean {
    return this.#ending !== 'none'
  }

  respond(head: ResponseHead, body: Uint8Array = new Uint8Array(0)): void {
    if (!this.#claim(head, body.byteLength)) return
    if (!this.#isBodiless && body.byteLength > 0) this.data(body.slice())
    this.end()
  }

  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    if (!this.#claim(head, options?.length)) return discardingWriter
    if (this.#isBodiless || options?.length === 0) {
      this.end()
      return discardingWriter
    }
    this.#writer = new MemoryWriter(this, this.#events.windowBytes, options?.length)
    return this.#writer
  }

  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else listener(this.#ending === 'aborted')
  }

  liftAnswerLimit(): void {
    // Without a socket there is none.
  }

  liftBodyLimit(): void {
    // The same.
  }

  /** Offers a WebSocket. @param client what happens at the other end of it */
  offer(protocols: readonly string[], client: WebSocketEvents): void {
    this.webSocket = { protocols, accept: (options, events) => this.#accept(options, events, client) }
  }

  data(chunk: Uint8Array): void {
    if (this.isOver) return
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    this.#chunks.push(piece)
    this.#events.onChunk?.(piece, () => this.cut())
  }

  end(): void {
    this.#close('written')
  }

  /** The client disconnects, or the response is aborted. */
  cut(reason?: Error): void {
    if (reason !== undefined) this.#events.onProblem(reason)
    this.#close('aborted')
  }

  #accept(
    { protocol = '', headers = [] }: Parameters<WebSocketOffer['accept']>[0],
    events: WebSocketEvents,
    client: WebSocketEvents,
  ): WebSocketPeer {
    if (this.#isAnswered) throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    this.#isAnswered = true
    const closed = (code: number, reason: string) => {
      events.closed(code, reason)
      this.#close('written')
    }
    const server: WebSocketEvents = { message: events.message.bind(events), drained: events.drained.bind(events), closed }
    const { near, far } = webSocketPair(server, client)
    const { headers: headerList } = safeHead({ status: 200, headers }, this.#events.onProblem)
    this.#switch({ peer: far, protocol, headerList })
    if (this.isOver) near.terminate()
    return near
  }

  get #isBodiless(): boolean {
    const { status } = this.#head
    return status === 204 || status === 304 || this.request.method === 'HEAD'
  }

  #claim(head: ResponseHead, length: number | undefined): boolean {
    if (this.#isAnswered) throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    this.#isAnswered = true
    if (this.isOver) return false
    this.#head = safeHead(head, this.#events.onProblem)
    const { status } = this.#head
    this.#contentLength = status === 204 || status === 304 ? undefined : length
    return true
  }

  #close(ending: 'written' | 'aborted'): void {
    if (this.isOver) return
    this.#ending = ending
    this.body.fail(
      new HttpError(
        'HTTP_ABORTED',
        ending === 'aborted' ? 'the client went away' : 'the response was sent before the request body was complete',
      ),
    )
    this.#writer?.gone()
    this.#onClosed?.(ending === 'aborted')
    this.#resolve(this.#toResponse(ending === 'aborted'))
  }

  #toResponse(aborted: boolean): MemoryResponse {
    const framing = this.#contentLength === undefined ? [] : [['content-length', String(this.#contentLength)] as const]
    const headerList = [...this.#head.headers.map(([name, value]) => [name.toLowerCase(), value] as const), ...framing]
    const body = Buffer.concat(this.#chunks)
    const headers = Object.fromEntries([...headerList].reverse())
    return { status: this.#head.status, headers, headerList, body, text: body.toString(), chunks: this.#chunks, aborted }
  }
}
