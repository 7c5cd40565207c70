import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { canonicalAddress, type FieldSource, type HttpRequest, type WebSocketOffer } from '@svc/http'
import { EngineRequest } from '../exchange/engine-request.ts'
import type { EngineLimits, WatchedExchange } from '../exchange/exchange-watch.ts'
import { bodyLimit, type GateFault, ReadyGate } from '../exchange/request-gate.ts'
import { safeHead } from '../exchange/response-head.ts'
import { readWebSocketWish, vanishedPeer, type WebSocketWish } from '../exchange/web-socket.ts'
import type { EngineOptions } from '../listener/engine.ts'
import type { ServerNames } from '../listener/server-names.ts'
import type { BodySource } from './node-body.ts'
import type { NodeConnection } from './node-connection.ts'
import { type NodeContext, NodeExchange } from './node-exchange.ts'
import { MAX_SLICE_BYTES } from './node-writer.ts'
import type { ResponseWire } from './response-wire.ts'
import type { UpgradeRequest } from './web-socket-hub.ts'

/** Most fields of a request, as with the engine uws. */
export const MAX_FIELDS = 98

/** Source of requests. */
export interface IntakeListener {
  /** Name of the listen address. */
  readonly listener: string
  readonly scheme: 'http' | 'https'
}

/** One request as a connection gives it. */
export interface Arrival {
  readonly method: string
  readonly target: string
  readonly fields: FieldSource
  readonly httpVersion: HttpRequest['httpVersion']
  /** Canonical address. */
  readonly peer: string
  readonly serverName: string | undefined
  readonly connection: NodeConnection
  readonly wire: ResponseWire
  readonly body: BodySource
  /** True if a body comes; undefined: the fields say so. */
  readonly hasBody: boolean | undefined
  /** The fault found in it so far. */
  readonly fault: GateFault | undefined
  /** Present when the client wants to speak another protocol on this connection. */
  readonly upgrade: UpgradeRequest | undefined
  /** Called when the request is let in, before it is handled. */
  readonly beforeHandling?: (() => void) | undefined
}

/** Looks at the requests of one listen address, one at a time, and hands them to the handler. */
export class NodeIntake {
  readonly #options: EngineOptions
  readonly #context: NodeContext
  readonly #gate: ReadyGate<string>
  /** Which certificates belong to which names, where connections speak TLS. */
  names: ServerNames | undefined

  constructor({ listener, scheme }: IntakeListener, options: EngineOptions, context: NodeContext) {
    this.#options = options
    this.#context = context
    this.#gate = new ReadyGate(listener, scheme, { addressOf: (peer) => peer, countedAddressOf: (peer) => peer })
  }

  /** @returns the exchange, if the request is not answered by now */
  take(received: Arrival): NodeExchange | undefined {
    const arrival = this.#behindProxy(received)
    const isForServer = arrival.target === '*' && arrival.method === 'OPTIONS'
    const fault = arrival.fault ?? this.#enter(arrival, isForServer)
    if (fault === undefined && !isForServer && this.#answersReady(arrival)) return undefined
    const exchange = this.#exchangeFor(arrival)
    try {
      if (fault !== undefined) this.#refuse(exchange, arrival, fault)
      else if (this.#isBodyTaken(exchange, arrival)) this.#handle(exchange, arrival, isForServer)
    } catch (error) {
      this.#context.problem(error)
      exchange.refuse(500, 'handler_failed')
    }
    return exchange
  }

  /** What a trusted proxy says of its peer in a header of the PROXY protocol is as good as the connection itself. */
  #behindProxy(arrival: Arrival): Arrival {
    const { proxied } = arrival.connection
    if (proxied === undefined || proxied === 'unnamed' || !this.#options.isTrustedProxy(arrival.peer)) return arrival
    return { ...arrival, peer: proxied.address }
  }

  #enter({ method, target, fields, httpVersion, serverName, connection }: Arrival, isForServer: boolean): GateFault | undefined {
    const fault = this.#gate.enter(method, isForServer ? '/' : target, fields, httpVersion === '1.0')
    if (fault !== undefined || this.names === undefined) return fault
    const { host } = this.#gate
    const isMisdirected =
      this.names.isUnguarded(connection.handshake, host) ||
      (serverName !== undefined && this.names.isMisdirected(serverName, host))
    return isMisdirected ? { status: 421, code: 'misdirected_request' } : undefined
  }

  #answersReady(arrival: Arrival): boolean {
    const { method, target, peer, wire, upgrade, hasBody, httpVersion, connection } = arrival
    const { ready } = this.#options
    if (ready === undefined || this.#context.isDraining || upgrade !== undefined || hasBody === true) return false
    if (!this.#gate.show(method, target, peer, httpVersion)) return false
    this.#gate.proxied = connection.proxied
    const response = ready.find(this.#gate)
    if (response === undefined) return false
    const { body, length } = response
    const closes = wire.wantsClose
    const head = this.#context.heads.ofReady(response.head)
    if (body === undefined) {
      wire.bodiless(head, { length: length === '' ? undefined : Number(length), closes })
      if (!wire.isMultiplexed) wire.end(undefined, [])
      wire.over()
      ready.sent()
    } else if (body.byteLength <= MAX_SLICE_BYTES) {
      wire.head(head, { length: body.byteLength, closes })
      wire.end(body, [])
      if (wire.isMultiplexed) new SentAnswer(this.#context, wire)
      ready.sent()
    } else {
      this.#exchangeFor(arrival).takeOver(head, body, ready.sentLater())
    }
    return true
  }

  #exchangeFor({ wire, peer, method, target }: Arrival): NodeExchange {
    const received = { listener: this.#gate.listener, remoteAddress: peer, method, target }
    return new NodeExchange(this.#context, wire, received)
  }

  #refuse(exchange: NodeExchange, { body, hasBody }: Arrival, { status, code }: GateFault): void {
    // Whatever is declared, nothing of it is wanted.
    if (hasBody !== false) exchange.receiveBody(body, { length: undefined, maxBytes: 0 })
    exchange.refuse(status, code)
  }

  /** Begins to receive a body, unless it may not come. */
  #isBodyTaken(exchange: NodeExchange, { method, body, hasBody }: Arrival): boolean {
    const { contentLength, isChunked } = this.#gate
    if (!(hasBody ?? (isChunked || (contentLength ?? 0) > 0))) return true
    const maxBytes = bodyLimit(this.#options, method, this.#gate)
    exchange.receiveBody(body, { length: contentLength, maxBytes: maxBytes ?? 0 })
    if (maxBytes !== undefined) return true
    exchange.refuse(413, 'body_too_large')
    return false
  }

  #handle(exchange: NodeExchange, arrival: Arrival, isForServer: boolean): void {
    if (isForServer) {
      exchange.answerForServer(204, 'options_asterisk', [['Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']])
      return
    }
    const gate = this.#gate
    const { method, target, httpVersion, serverName, connection, upgrade } = arrival
    if (upgrade !== undefined) {
      const wish = readWebSocketWish(gate, method)
      if (wish !== undefined && 'status' in wish) {
        exchange.refuse(wish.status, wish.code)
        return
      }
      if (wish !== undefined) exchange.webSocket = acceptWebSocket(exchange, upgrade, wish, this.#context)
    }
    const { place: connectionPlace } = connection
    const line = { method, target, areUtf8: false, httpVersion, serverName, connection, connectionPlace }
    exchange.admit(new EngineRequest(gate, line, exchange))
    arrival.beforeHandling?.()
    this.#options.onExchange(exchange)
    exchange.handlerReturned()
  }
}

/**
 * A ready response that a stream was given, until its client has taken it: a client that opens no window is cut after the idle time. In HTTP/1 the
 * connection has such a limit of its own.
 */
class SentAnswer implements WatchedExchange {
  watchPlace: number | undefined
  readonly #context: NodeContext
  readonly #wire: ResponseWire
  readonly #since = performance.now()
  #isOver = false

  constructor(context: NodeContext, wire: ResponseWire) {
    this.#context = context
    this.#wire = wire
    context.began()
    context.watch(this)
    // Costs less than `once`, and the event comes once.
    wire.out.on('close', () => this.#end())
  }

  check(now: number, { idleTimeoutMs }: EngineLimits): void {
    if (now - this.#since > idleTimeoutMs) this.cut()
  }

  cut(): void {
    this.#wire.cut()
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#wire.over()
    this.#context.released(this)
  }
}

/** The offer that an exchange makes for a request that wants to speak WebSocket. */
function acceptWebSocket(
  exchange: NodeExchange,
  upgrade: UpgradeRequest,
  wish: WebSocketWish,
  context: NodeContext,
): WebSocketOffer {
  return {
    protocols: wish.protocols,
    accept: (options, events) => {
      const onProblem = (error: unknown) => context.problem(error)
      if (!exchange.switchOver()) return vanishedPeer(events, onProblem)
      const { headers } = safeHead({ status: 200, headers: options.headers ?? [] }, onProblem)
      const peer = context.webSockets.open(upgrade, {
        protocol: options.protocol,
        fields: headers,
        events,
        onEnd: () => exchange.switchEnded(),
      })
      if (peer !== undefined) return peer
      exchange.switchEnded()
      return vanishedPeer(events, onProblem)
    },
  }
}

/** Address of the peer in canonical text form; "" when the connection is closed or uses a unix socket. */
export function peerAddress(socket: Pick<Socket, 'remoteAddress'>): string {
  const { remoteAddress = '' } = socket
  return canonicalAddress(remoteAddress) ?? canonicalAddress(remoteAddress.split('%')[0] ?? '') ?? ''
}

/** The name that a client has named in its TLS handshake. */
export function serverNameOf(socket: TLSSocket): string | undefined {
  const { servername } = socket as { servername?: string | false | null }
  return typeof servername === 'string' && servername !== '' ? servername.toLowerCase() : undefined
}
