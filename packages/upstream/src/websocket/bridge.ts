import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { asError } from '@svc/core'
import type { HeaderList, ResponseSink, ResponseSource, WebSocketOffer } from '@svc/http'
import type { WebSocket } from 'ws'
import { UpstreamError } from '../errors/errors.ts'
import { connectionOptions, isConnectionField } from '../http/answer-head.ts'
import type { HttpOrigin } from '../http/http-origin.ts'
import { LazyTimer } from '../http/lazy-timer.ts'
import type { OriginRequest } from '../origin/origin.ts'
import { joinSockets } from './joined-sockets.ts'
import { UpstreamOpening } from './upstream-opening.ts'

/** Receives the response of an upstream that does not switch protocols. */
export interface SwitchSink extends ResponseSink {
  /** The switch of protocols has been sent to the client: no response follows. */
  switched(): void
}

/** A wish for a WebSocket that is passed on. */
interface BridgeOptions {
  readonly origin: HttpOrigin
  /** As for any other request to the upstream. */
  readonly request: OriginRequest
  readonly offer: WebSocketOffer
  /** The fields of the upstream's upgrade response that clients get. */
  readonly filter: (fields: HeaderList) => HeaderList
  readonly sink: SwitchSink
}

/** Fields of the handshake that each side makes for itself. */
const OF_HANDSHAKE: ReadonlySet<string> = new Set(['sec-websocket-accept', 'sec-websocket-extensions', 'sec-websocket-protocol'])

/**
 * Opens a WebSocket to the upstream and, when that has agreed, one to the client, and passes messages between them. What the
 * upstream answers in place of agreeing is answered to the client.
 */
export function bridgeWebSocket({ origin, request, offer, filter, sink }: BridgeOptions): void {
  const { readMs } = origin.settings.timeouts
  let refusal: Refusal | undefined
  let opening: UpstreamOpening | undefined
  let isAborted = false
  const events = {
    opened(socket: WebSocket, response: IncomingMessage, release: () => void) {
      const accepted = acceptance(response, filter)
      joinSockets({ upstream: socket, accept: (events) => offer.accept(accepted, events), idleMs: readMs, release })
      sink.switched()
    },
    refused(response: IncomingMessage) {
      refusal = new Refusal(response, sink, readMs)
      refusal.start()
    },
    failed: (error: Error) => sink.fail(error),
  }
  sink.attach({
    resume: () => refusal?.resume(),
    abort() {
      isAborted = true
      opening?.abort()
      refusal?.abort()
    },
  })
  // Loaded with the first WebSocket: with its own imports it is a tenth of the start of a worker.
  import('ws').then(
    ({ WebSocket }) => {
      if (isAborted) return
      opening = new UpstreamOpening({ settings: origin.settings, request, protocols: offer.protocols, client: WebSocket }, events)
      opening.start()
    },
    (error) => sink.fail(asError(error)),
  )
}

/** The response to the client: the subprotocol that the upstream chose, and the fields of its response. */
function acceptance(response: IncomingMessage, filter: BridgeOptions['filter']): Parameters<WebSocketOffer['accept']>[0] {
  const fields = fieldsOf(response)
  const protocol = fields.find(([name]) => name === 'sec-websocket-protocol')?.[1]
  const headers = filter(fields).filter(([name]) => !OF_HANDSHAKE.has(name))
  return protocol === undefined ? { headers } : { protocol, headers }
}

/** The fields of a response that are not those of its connection; names in lower case. */
function fieldsOf({ rawHeaders, headers }: IncomingMessage): HeaderList {
  const named = connectionOptions(headers.connection ?? '')
  const fields: (readonly [string, string])[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    if (!isConnectionField(name) && !named.has(name)) fields.push([name, rawHeaders[i + 1] ?? ''])
  }
  return fields
}

/** A response in place of the switch of protocols, on its way to the client: no faster than that takes it. */
class Refusal implements ResponseSource {
  readonly #response: IncomingMessage
  readonly #sink: ResponseSink
  readonly #readMs: number
  readonly #timer: LazyTimer
  #isOver = false

  /** @param readMs how long the upstream may take for each further part */
  constructor(response: IncomingMessage, sink: ResponseSink, readMs: number) {
    this.#response = response
    this.#sink = sink
    this.#readMs = readMs
    this.#timer = new LazyTimer(() => {
      response.destroy()
      this.#fail(new UpstreamError('UPSTREAM_TIMEOUT', `upstream response stalled for ${readMs} ms`))
    })
  }

  /** To be called once. */
  start(): void {
    const response = this.#response
    const { socket } = response
    this.#timer.set(this.#readMs)
    response.on('data', (bytes: Buffer) => this.#received(bytes))
    response.on('end', () => this.#ended(socket))
    response.on('error', (error) => this.#fail(new UpstreamError('UPSTREAM_CUT', error.message, { cause: error })))
    const length = response.headers['content-length']
    const head = { status: response.statusCode ?? 502, headers: fieldsOf(response) }
    this.#sink.head(head, length === undefined ? undefined : Number(length))
  }

  resume(): void {
    if (this.#isOver) return
    this.#timer.set(this.#readMs)
    this.#response.resume()
  }

  abort(): void {
    this.#isOver = true
    this.#timer.close()
    this.#response.destroy()
  }

  #ended(socket: Socket): void {
    this.#timer.close()
    // The library keeps it for a request that is never sent.
    socket.destroy()
    if (this.#isOver) return
    this.#isOver = true
    this.#sink.end([])
  }

  #fail(error: UpstreamError): void {
    this.#timer.close()
    if (this.#isOver) return
    this.#isOver = true
    this.#sink.fail(error)
  }

  #received(bytes: Buffer): void {
    if (this.#isOver) return
    if (this.#sink.chunk(bytes)) {
      this.#timer.set(this.#readMs)
    } else {
      this.#timer.clear()
      this.#response.pause()
    }
  }
}
