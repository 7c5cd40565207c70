import uws, {
  type HttpRequest,
  type HttpResponse,
  type ListenSocket,
  type TemplatedApp,
  type UpgradeContext,
} from 'uWebSockets.js'
import type { ListenAddress } from '@svc/protocol'
import type { EngineOptions } from '../engine.ts'
import { EngineRequest } from '../engine-request.ts'
import { GateAsk } from '../gate-ask.ts'
import type { ReadyEnd } from '../ready-responses.ts'
import { type GateFault, RequestGate } from '../request-gate.ts'
import { readWebSocketWish } from '../web-socket-wish.ts'
import { triedToBind } from './bind-trial.ts'
import type { ExchangeContext } from './exchange-context.ts'
import { writeReady } from './ready-writer.ts'
import { UwsExchange } from './uws-exchange.ts'
import { UwsWebSocketRoute } from './uws-web-socket-route.ts'

/**
 * One listen address with an app of its own, so that requests know where they came in. Never throws into the library: that
 * would end the process.
 */
export class UwsListener {
  readonly name: string
  readonly #options: EngineOptions
  readonly #context: ExchangeContext
  readonly #onConnections: (change: number) => void
  readonly #gate = new RequestGate()
  readonly #ask: GateAsk<HttpResponse>
  readonly #app: TemplatedApp
  readonly #webSockets: UwsWebSocketRoute
  #socket: ListenSocket | undefined
  #connections = 0
  /** The request whose handler runs at this moment. */
  #current: UwsExchange | undefined
  /** Of the request in the gate. */
  #method = ''
  #target = ''

  constructor(name: string, options: EngineOptions, context: ExchangeContext, onConnections: (change: number) => void) {
    this.name = name
    this.#options = options
    this.#context = context
    this.#onConnections = onConnections
    this.#ask = new GateAsk(this.#gate, (res) => context.peers.read(res))
    this.#webSockets = new UwsWebSocketRoute({
      handle: (res, req, upgrade) => this.#handle(res, req, 'GET', upgrade),
      connectionClosed: () => this.#counted(-1),
      problem: (error) => context.problem(error),
    })
    this.#app = uws.App()
    this.#webSockets.addTo(this.#app)
    // A route of its own for GET saves asking for the method, most of the time. It is matched in exact case.
    this.#app.get('/*', (res, req) => this.#handle(res, req, 'GET'))
    this.#app.any('/*', (res, req) => this.#handle(res, req, req.getCaseSensitiveMethod()))
    this.#app.filter((_res, change) => this.#counted(change))
  }

  get connections(): number {
    return this.#connections
  }

  get isListening(): boolean {
    return this.#socket !== undefined
  }

  /** @returns the port that is bound */
  async listen(address: ListenAddress): Promise<number> {
    this.#app.listen(address.host, address.port, (socket) => {
      if (socket !== false) this.#socket = socket
    })
    if (this.#socket === undefined) throw await triedToBind(address)
    return uws.us_socket_local_port(this.#socket)
  }

  /** Stops accepting. */
  unlisten(): void {
    if (this.#socket === undefined) return
    uws.us_listen_socket_close(this.#socket)
    this.#socket = undefined
  }

  /** Says to clients that can be told that it is over. */
  leave(): void {
    this.#webSockets.leave()
  }

  /** Stops accepting and cuts all connections. */
  close(): void {
    this.unlisten()
    this.#app.close()
    // The one request that is being handled has no abort listener yet.
    this.#current?.aborted()
  }

  #counted(change: number): void {
    this.#connections += change
    this.#onConnections(change)
  }

  #handle(res: HttpResponse, req: HttpRequest, method: string, upgrade?: UpgradeContext): void {
    this.#method = method
    let exchange: UwsExchange | undefined
    try {
      const fault = this.#enter(req)
      if (fault === undefined && this.#answersReady(res)) return
      exchange = new UwsExchange(this.#context, this.name, res)
      this.#current = exchange
      this.#accept(exchange, fault, upgrade)
    } catch (error) {
      exchange ??= new UwsExchange(this.#context, this.name, res)
      this.#failed(exchange, error)
    }
    this.#current = undefined
    // No later than here: a handler that returns with neither an answer nor this listener ends the process. Not earlier,
    // because it is a tenth of the cost of a request that is answered at once (bench/engine.ts).
    watchAbort(res, exchange)
    exchange.handlerReturned()
  }

  /** Reads the request into the gate. */
  #enter(req: HttpRequest): GateFault | undefined {
    const query = req.getQuery()
    this.#target = query === undefined ? req.getUrl() : `${req.getUrl()}?${query}`
    return this.#gate.enter(this.#method, this.#target, req)
  }

  /** Answers with a ready response, where there is one and the connection just goes on after it. */
  #answersReady(res: HttpResponse): boolean {
    const { ready } = this.#options
    if (ready === undefined || this.#context.isDraining) return false
    const ask = this.#ask
    if (!ask.open(this.#method, this.#target, res)) return false
    const response = ready.find(ask)
    if (response === undefined) return false
    const { body } = response
    if (writeReady(res, response) || body === undefined) ready.sent()
    else this.#sendSlowly(res, body, ready.sentLater())
    return true
  }

  #sendSlowly(res: HttpResponse, body: Uint8Array, onClosed: ReadyEnd): void {
    const exchange = new UwsExchange(this.#context, this.name, res)
    watchAbort(res, exchange)
    exchange.takeOver(body, onClosed)
    exchange.handlerReturned()
  }

  #accept(exchange: UwsExchange, fault: GateFault | undefined, upgrade: UpgradeContext | undefined): void {
    const gate = this.#gate
    const method = this.#method
    const target = this.#target
    exchange.open(method, target, gate)
    if (fault !== undefined || gate.parsed === undefined) {
      exchange.receiveBody(undefined, 0)
      exchange.refuse(fault?.status ?? 400, fault?.code ?? 'bad_request')
      return
    }
    if ((gate.contentLength ?? 0) > 0 || gate.isChunked) {
      if (this.#refuseBody(exchange)) return
    } else if (gate.isSpecial && this.#refuseUpgrade(exchange, upgrade)) {
      return
    }
    const { parsed, host, fields } = gate
    const parts = { method, target, parsed, host, fields, areUtf8: true, listener: this.name }
    exchange.admit(new EngineRequest(parts, exchange))
    this.#options.onExchange(exchange)
  }

  /** Makes an offer of the wish for a WebSocket, unless it is a broken one. */
  #refuseUpgrade(exchange: UwsExchange, upgrade: UpgradeContext | undefined): boolean {
    const wish = readWebSocketWish(this.#gate, this.#method)
    if (wish === undefined) return false
    if ('status' in wish) {
      exchange.receiveBody(undefined, 0)
      exchange.refuse(wish.status, wish.code)
      return true
    }
    if (upgrade !== undefined) exchange.webSocket = this.#webSockets.offerFor(exchange, wish, upgrade)
    return false
  }

  /** Begins to receive a body, unless it may not come. */
  #refuseBody(exchange: UwsExchange): boolean {
    const { contentLength, isChunked } = this.#gate
    const { maxBodyBytes } = this.#context.limits()
    exchange.receiveBody(contentLength, maxBodyBytes)
    if ((contentLength ?? 0) > maxBodyBytes) exchange.refuse(413, 'body_too_large')
    // A proxy shares its connections among clients, and the library's reading of chunks can be led astray.
    else if (isChunked && this.#options.isTrustedProxy(exchange.remoteAddress())) exchange.refuse(411, 'length_required')
    else return false
    return true
  }

  #failed(exchange: UwsExchange, error: unknown): void {
    this.#context.problem(error)
    try {
      if (!exchange.isAnswered) exchange.refuse(500, 'handler_failed')
    } catch (second) {
      this.#context.problem(second)
    }
  }
}

function watchAbort(res: HttpResponse, exchange: UwsExchange): void {
  if (!exchange.isOver) res.onAborted(() => exchange.aborted())
}
