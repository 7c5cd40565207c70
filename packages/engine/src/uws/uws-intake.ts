import type { HttpRequest, HttpResponse, UpgradeContext } from 'uWebSockets.js'
import { EngineRequest } from '../exchange/engine-request.ts'
import type { ReadyEnd, ReadyResponse } from '../exchange/ready-responses.ts'
import { bodyLimit, type GateFault, ReadyGate } from '../exchange/request-gate.ts'
import { readWebSocketWish } from '../exchange/web-socket.ts'
import type { EngineOptions } from '../listener/engine.ts'
import type { ServerNames } from '../listener/server-names.ts'
import { endLast, isClosedByLibrary } from './closing.ts'
import { SolePeer, type UwsContext } from './uws-context.ts'
import { UwsExchange } from './uws-exchange.ts'
import type { UwsWebSocketRoute } from './uws-web-socket-route.ts'
import { MAX_SINGLE_BYTES } from './whole-response.ts'

/** By which routes of the library a request came in. */
interface UwsDoor {
  /** Named in the TLS handshake, lower case; undefined: none, or unknown. */
  readonly serverName: string | undefined
  readonly webSockets: UwsWebSocketRoute
}

/**
 * Looks at the requests of one listen address, one at a time, and hands them to the handler. Never throws into the library:
 * that would end the process.
 */
export class UwsIntake {
  readonly #options: EngineOptions
  readonly #context: UwsContext
  readonly #gate: ReadyGate<HttpResponse>
  readonly #sole: SolePeer
  /** Which certificates belong to which names, where connections speak TLS. */
  names: ServerNames | undefined
  /** The request whose handler runs at this moment. */
  #current: UwsExchange | undefined
  /** Of the request in the gate. */
  #method = ''
  #target = ''

  constructor(listener: string, scheme: 'http' | 'https', options: EngineOptions, context: UwsContext) {
    this.#options = options
    this.#context = context
    const sole = new SolePeer(context.peers)
    this.#sole = sole
    this.#gate = new ReadyGate(listener, scheme, {
      addressOf: (res) => context.peers.read(res),
      countedAddressOf: (res) => sole.addressOf(res),
    })
  }

  /** A connection was opened. */
  opened(res: HttpResponse): void {
    this.#sole.opened(res)
  }

  /** A connection has ended. */
  closed(): void {
    this.#sole.closed()
  }

  /** The connections have been cut. The one request that is being handled has no abort listener yet. */
  cut(): void {
    this.#current?.aborted()
  }

  handle(door: UwsDoor, res: HttpResponse, req: HttpRequest, method: string, upgrade?: UpgradeContext): void {
    const { closeGuard } = this.#context
    if (closeGuard.isArmed && closeGuard.catches(this.#context.peers.read(res))) {
      drop(res)
      return
    }
    this.#method = method
    let exchange: UwsExchange | undefined
    try {
      const fault = this.#enter(req, door.serverName)
      if (fault === undefined && this.#answersReady(res)) return
      exchange = new UwsExchange(this.#context, this.#gate.listener, res)
      this.#current = exchange
      this.#accept(exchange, door, fault, upgrade)
    } catch (error) {
      exchange ??= new UwsExchange(this.#context, this.#gate.listener, res)
      this.#failed(exchange, error)
    }
    this.#current = undefined
    // No later than here: a handler that returns with neither a response nor this listener ends the process. Not earlier,
    // because it is a tenth of the cost of a request that is answered at once (bench/engine.ts).
    watchAbort(res, exchange)
    exchange.handlerReturned()
  }

  /** Reads the request into the gate. */
  #enter(req: HttpRequest, serverName: string | undefined): GateFault | undefined {
    const query = req.getQuery()
    this.#target = query === undefined ? req.getUrl() : `${req.getUrl()}?${query}`
    const fault = this.#gate.enter(this.#method, this.#target, req)
    if (fault !== undefined || serverName === undefined) return fault
    const isMisdirected = this.names?.isMisdirected(serverName, this.#gate.host) === true
    return isMisdirected ? { status: 421, code: 'misdirected_request' } : undefined
  }

  /** Answers with a ready response, where there is one. */
  #answersReady(res: HttpResponse): boolean {
    const { ready } = this.#options
    if (ready === undefined || this.#context.isDraining) return false
    if (!this.#gate.show(this.#method, this.#target, res)) return false
    const response = ready.find(this.#gate)
    if (response === undefined) return false
    const { body } = response
    if (this.#gate.wantsClose || isClosedByLibrary(this.#gate)) {
      this.#sendLast(res, response)
    } else if ((body?.byteLength ?? 0) === 0 && this.#context.mustWait()) {
      const later = { ...response }
      this.#handOver(res, ready.sentLater(), (exchange) => exchange.sendLater(() => writeReady(res, later)))
    } else if (writeReady(res, response) || body === undefined) ready.sent()
    else this.#handOver(res, ready.sentLater(), (exchange) => exchange.resume(body))
    return true
  }

  /** Sends a ready response behind which the connection closes. */
  #sendLast(res: HttpResponse, response: ReadyResponse): void {
    const { head, body } = response
    const { ready } = this.#options
    if (body !== undefined && body.byteLength > 0 && body.byteLength <= MAX_SINGLE_BYTES) {
      const address = this.#context.peers.read(res)
      res.writeStatus(head.bytes)
      endLast(res, body, isClosedByLibrary(this.#gate))
      this.#context.closeGuard.arm(address)
      ready?.sent()
      return
    }
    this.#handOver(res, ready?.sentLater(), (exchange) => exchange.sendLast(response))
  }

  /** Has an exchange send a ready response. */
  #handOver(res: HttpResponse, onClosed: ReadyEnd | undefined, send: (exchange: UwsExchange) => void): void {
    const exchange = new UwsExchange(this.#context, this.#gate.listener, res)
    watchAbort(res, exchange)
    exchange.takeOver(onClosed)
    send(exchange)
    exchange.handlerReturned()
  }

  #accept(exchange: UwsExchange, door: UwsDoor, fault: GateFault | undefined, upgrade: UpgradeContext | undefined): void {
    const gate = this.#gate
    const method = this.#method
    const target = this.#target
    exchange.open(method, target, gate)
    if (fault !== undefined) {
      exchange.receiveBody({ length: undefined, maxBytes: 0 })
      exchange.refuse(fault.status, fault.code)
      return
    }
    if ((gate.contentLength ?? 0) > 0 || gate.isChunked) {
      if (this.#refuseBody(exchange)) return
    } else if (gate.isSpecial && this.#refuseUpgrade(exchange, door, upgrade)) {
      return
    }
    exchange.admit(new EngineRequest(gate, { method, target, areUtf8: true, serverName: door.serverName }, exchange))
    this.#options.onExchange(exchange)
  }

  /** Makes an offer of the wish for a WebSocket, unless it is a broken one. */
  #refuseUpgrade(exchange: UwsExchange, door: UwsDoor, upgrade: UpgradeContext | undefined): boolean {
    const wish = readWebSocketWish(this.#gate, this.#method)
    if (wish === undefined) return false
    if ('status' in wish) {
      exchange.receiveBody({ length: undefined, maxBytes: 0 })
      exchange.refuse(wish.status, wish.code)
      return true
    }
    if (upgrade !== undefined) exchange.webSocket = door.webSockets.offerFor(exchange, wish, upgrade)
    return false
  }

  /** Begins to receive a body, unless it may not come. */
  #refuseBody(exchange: UwsExchange): boolean {
    const { contentLength, isChunked } = this.#gate
    const maxBytes = bodyLimit(this.#options, this.#method, this.#gate)
    exchange.receiveBody({ length: contentLength, maxBytes: maxBytes ?? 0 })
    if (maxBytes === undefined) exchange.refuse(413, 'body_too_large')
    // A proxy shares its connections among clients, and the library's reading of chunks can be led astray.
    else if (isChunked && this.#options.isTrustedProxy(exchange.remoteAddress())) exchange.refuse(411, 'length_required')
    else return false
    return true
  }

  #failed(exchange: UwsExchange, error: unknown): void {
    this.#context.problem(error)
    try {
      exchange.refuse(500, 'handler_failed')
    } catch (second) {
      this.#context.problem(second)
    }
  }
}

/** Closes the connection of a request that must not run, as soon as earlier writes have been sent. */
function drop(res: HttpResponse): void {
  let isGone = false
  res.onAborted(() => {
    isGone = true
  })
  setImmediate(() => {
    if (!isGone) res.close()
  })
}

function watchAbort(res: HttpResponse, exchange: UwsExchange): void {
  if (!exchange.isOver) res.onAborted(() => exchange.aborted())
}

/**
 * Writes a ready response within the handler of its request, where everything is corked already. The connection goes on behind it.
 * @returns true if it has been handed over whole; if not, the client takes its body slowly
 */
function writeReady(res: HttpResponse, { head, body, length }: ReadyResponse): boolean {
  res.writeStatus(head.bytes)
  if (body === undefined) {
    if (length !== '') res.writeHeader('Content-Length', length)
    res.endWithoutBody()
    return true
  }
  // Not `end`: it keeps for a client that reads nothing whatever it is given, one response behind the other.
  return res.tryEnd(body, body.byteLength)[1]
}
