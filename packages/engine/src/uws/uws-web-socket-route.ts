import type { HttpRequest, HttpResponse, TemplatedApp, UpgradeContext } from 'uWebSockets.js'
import type { HeaderList, WebSocketEvents, WebSocketOffer } from '@svc/http'
import { IDLE_TIMEOUT_SECONDS, MAX_BUFFERED_BYTES, MAX_MESSAGE_BYTES } from '@svc/http'
import { safeHead } from '../exchange/response-head.ts'
import type { WebSocketWish } from '../exchange/web-socket.ts'
import { vanishedPeer } from '../exchange/web-socket.ts'
import type { UwsExchange } from './uws-exchange.ts'
import { type SocketState, UwsWebSocket } from './uws-web-socket.ts'

/** The parts of a listener that its WebSockets use. */
interface WebSocketHost {
  /** A request that may be upgraded. */
  handle(res: HttpResponse, req: HttpRequest, context: UpgradeContext): void
  /** The connection of a WebSocket has closed, which the library does not report. */
  connectionClosed(): void
  problem(error: unknown): void
}

/** The WebSockets of one listen address. */
export class UwsWebSocketRoute {
  readonly #host: WebSocketHost
  readonly #open = new Set<UwsWebSocket>()
  #isLeaving = false

  constructor(host: WebSocketHost) {
    this.#host = host
  }

  /** Adds the route to an app. */
  addTo(app: TemplatedApp): void {
    app.ws<SocketState>('/*', {
      // None: memory for each connection, and a few bytes that unpack to many, are not worth what it saves.
      compression: 0,
      maxPayloadLength: MAX_MESSAGE_BYTES,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      sendPingsAutomatically: true,
      maxBackpressure: MAX_BUFFERED_BYTES,
      closeOnBackpressureLimit: true,
      maxLifetime: 0,
      upgrade: (res, req, context) => this.#host.handle(res, req, context),
      open: (socket) => socket.getUserData().owner.opened(socket),
      message: (socket, message, isBinary) => socket.getUserData().owner.received(message, isBinary),
      ping: (socket) => socket.getUserData().owner.pinged(),
      drain: (socket) => socket.getUserData().owner.drained(),
      close: (socket, code, reason) => socket.getUserData().owner.closed(code, reason),
    })
  }

  /** The offer that an exchange makes for a request that wants to speak WebSocket. */
  offerFor(exchange: UwsExchange, wish: WebSocketWish, context: UpgradeContext): WebSocketOffer {
    return {
      protocols: wish.protocols,
      accept: ({ protocol = '', headers = [] }, events) => {
        let isOpened = false
        const socket = this.#socketFor(exchange, events, () => isOpened)
        isOpened = exchange.switchOver((res) => {
          this.#writeFields(res, headers)
          res.upgrade({ owner: socket }, wish.key, protocol, '', context)
        })
        if (!isOpened) return vanishedPeer(events, (error) => this.#host.problem(error))
        this.#open.add(socket)
        if (this.#isLeaving) socket.close(1001, 'going away')
        return socket
      },
    }
  }

  /** Closes all, and those that are opened from now on. */
  leave(): void {
    this.#isLeaving = true
    for (const socket of [...this.#open]) socket.close(1001, 'going away')
  }

  #socketFor(exchange: UwsExchange, events: WebSocketEvents, isOpened: () => boolean): UwsWebSocket {
    const onEnd = () => {
      if (!isOpened()) return
      this.#open.delete(socket)
      this.#host.connectionClosed()
      exchange.switchEnded()
    }
    const socket: UwsWebSocket = new UwsWebSocket(events, onEnd, (error) => this.#host.problem(error))
    return socket
  }

  #writeFields(res: HttpResponse, headers: HeaderList): void {
    const safe = safeHead({ status: 200, headers }, (error) => this.#host.problem(error))
    res.writeStatus('101 Switching Protocols')
    for (const [name, value] of safe.headers) res.writeHeader(name, Buffer.from(value, 'latin1'))
  }
}
