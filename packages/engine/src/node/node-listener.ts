import { createServer as createHttpServer, type Server as HttpServer, type ServerOptions } from 'node:http'
import {
  createServer as createHttp2Server,
  type ServerOptions as Http2Options,
  type Http2Server,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { type AddressInfo, Server as NetServer, Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { codeOf } from '@svc/core'
import type { ListenAddress } from '@svc/http'
import type { EngineLimits } from '../exchange/exchange-watch.ts'
import { bindFailure, openToAll } from '../listener/binding.ts'
import type { EngineOptions } from '../listener/engine.ts'
import { noteHandshake } from './client-certificate.ts'
import { awaitHello } from './client-hello.ts'
import { readFirstBytes } from './first-bytes.ts'
import { Http1Intake } from './http1-intake.ts'
import { Http2Intake } from './http2-intake.ts'
import { NewConnections } from './new-connections.ts'
import { socketBelow } from './node-connection.ts'
import type { NodeContext } from './node-exchange.ts'
import { NodeIntake } from './node-intake.ts'
import { noteProxied, parseProxyHeader } from './proxy-header.ts'
import type { TlsContexts } from './tls-contexts.ts'

/** How long a client may take for the head of a request, and for its TLS handshake. */
const HEAD_TIMEOUT_MS = 10_000
/** Interval of the checks of connection time limits. */
const CHECK_MS = 1_000
/** Connections that the kernel holds until they are accepted. */
const BACKLOG = 1024

/** Of a socket that outlives the process: connections wait in it while the service restarts. The kernel has a limit of its own. */
const SHARED_BACKLOG = 65_535

/**
 * How long idle connections of HTTP/1 are kept during a drain, so that busy clients learn from a response that they close. A response
 * counts as in flight until the kernel has all of it.
 */
const IDLE_GRACE_MS = 120
/** How long sessions of HTTP/2 are kept: they close by themselves behind the last byte of their last response. */
const FLUSH_GRACE_MS = 500

/** RFC 9110 section 10.1.1. */
const unknownExpectation = { status: 417, code: 'unknown_expectation' }

/** A client that offers none of these protocols is rejected, as ALPN requires (RFC 7301 section 3.2). */
const HANDSHAKE = { ALPNProtocols: ['h2', 'http/1.1', 'http/1.0'], handshakeTimeout: HEAD_TIMEOUT_MS }

/** A fatal alert of TLS (RFC 8446 section 6.2). */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112])

/** Options that Node has before its types do. */
type Http1Options = ServerOptions & { shouldUpgradeCallback: Parameters<HttpServer['on']>[1] }

/** One listen address: HTTP/1, and with TLS also HTTP/2, which ALPN chooses. */
export class NodeListener {
  readonly name: string
  readonly #context: NodeContext
  readonly #intake: NodeIntake
  readonly #http1: Http1Intake
  readonly #http2: Http2Intake
  readonly #server: HttpServer | HttpsServer
  readonly #sockets = new Set<Socket>()
  readonly #onConnections: (change: number) => void
  #tls: TlsContexts | undefined
  /** Servers for handshakes with the certificate of a name, by its id, where names differ in more than one certificate. */
  #byName = new Map<string, TlsServer>()
  /** Undefined where the listener has a socket of its own. */
  readonly #new: NewConnections | undefined
  #isListening = false

  constructor(
    address: ListenAddress,
    tls: TlsContexts | undefined,
    shared: { options: EngineOptions; context: NodeContext; onConnections: (change: number) => void },
  ) {
    const { options, context, onConnections } = shared
    this.name = address.name
    this.#context = context
    this.#onConnections = onConnections
    this.#tls = tls
    const origin = { listener: address.name, scheme: tls === undefined ? 'http' : 'https' } as const
    const intake = new NodeIntake(origin, options, context)
    intake.names = tls?.names
    this.#intake = intake
    // Requests that come without TLS where TLS is spoken: no ready response is for them.
    const { ready: _ready, ...withoutReady } = options
    const plain = tls && new NodeIntake({ listener: address.name, scheme: 'http' }, withoutReady, context)
    this.#http1 = new Http1Intake(origin, { intake, plain }, context, address.socket === undefined)
    this.#http2 = new Http2Intake(intake, context)
    this.#server =
      tls === undefined ? createHttpServer(this.#http1Options(context.limits())) : this.#tlsServer(tls, context.limits())
    this.#new = address.fd === undefined ? undefined : new NewConnections()
    if (address.isProxied === true) awaitProxyHeaders(this.#server)
    this.#watch(this.#server)
  }

  get hasNew(): boolean {
    return this.#new?.hasAny === true
  }

  get graceMs(): number {
    return this.#http2.hasSessions ? FLUSH_GRACE_MS : IDLE_GRACE_MS
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** @returns the port that is bound; 0 for a unix socket */
  async listen(address: ListenAddress): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const server = this.#server
    server.once('error', reject)
    const { host, port, socket, fd } = address
    // Each worker listens for itself: the kernel spreads connections over those that share a port.
    if (socket !== undefined) server.listen({ path: socket, backlog: BACKLOG }, resolve)
    else if (fd === undefined) server.listen({ host, port, reusePort: true, backlog: BACKLOG }, resolve)
    // By the number alone, node:cluster would have the master accept.
    else server.listen(new Socket({ fd, readable: false, writable: false }), SHARED_BACKLOG, resolve)
    try {
      await promise
    } catch (cause) {
      throw bindFailure(address, cause)
    } finally {
      server.off('error', reject)
    }
    server.on('error', (error) => this.#context.problem(error))
    this.#isListening = true
    if (address.socket !== undefined) openToAll(address.socket)
    const bound = server.address()
    return bound === null || typeof bound === 'string' ? 0 : (bound as AddressInfo).port
  }

  /** New connections get these certificates. */
  setTls(tls: TlsContexts): void {
    this.#tls = tls
    this.#byName = new Map()
    this.#intake.names = tls.names
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(tls.fallback)
  }

  /** Stops accepting; connections live on. */
  unlisten(): void {
    if (!this.#isListening) return
    this.#isListening = false
    // The `close` of the HTTP server would also close idle connections and stop its time limits.
    NetServer.prototype.close.call(this.#server)
  }

  /** Tells clients, if their protocol has a way, that no further requests are taken. */
  leave(): void {
    this.#http2.leave()
  }

  /** Stops accepting and cuts all connections. */
  close(): void {
    this.unlisten()
    for (const socket of [...this.#sockets]) {
      socket.destroy()
      this.#forget(socket)
    }
    this.#server.close()
  }

  #tlsServer(tls: TlsContexts, limits: EngineLimits): HttpsServer {
    const server = createHttpsServer({
      ...this.#http1Options(limits),
      ...tls.fallback,
      ...HANDSHAKE,
      SNICallback: (name, done) => done(null, this.#tls?.find(name)),
    })
    const http2 = this.#http2Server(limits)
    const http1Listeners = server.listeners('secureConnection')
    server.removeAllListeners('secureConnection')
    const secured = (socket: TLSSocket) => {
      socket.once('end', () => this.#http1.halfClosed(socket))
      this.#new?.secured(socket, socketBelow(socket))
      if (socket.alpnProtocol === 'h2') {
        http2.once('session', (session: ServerHttp2Session) => {
          session.once('stream', () => this.#new?.used(socket))
          this.#http2.session(session, socket)
        })
        http2.emit('connection', socket)
      } else passOn(server, http1Listeners, socket)
    }
    server.on('secureConnection', secured)
    server.on('tlsClientError', (error, socket) => this.#handshakeFailed(error, socket))
    this.#lookBefore(server, secured, (socket) => passOn(server, http1Listeners, socket))
    return server
  }

  /** Looks at the beginning of a connection, where it matters which name the client asks for, or that it does not speak TLS. */
  #lookBefore(server: HttpsServer, secured: (socket: TLSSocket) => void, plain: (socket: Socket) => void): void {
    const handshakes = takeListeners(server)
    server.on('connection', (socket: Socket) => {
      const { isByName = false, takesPlain = false } = this.#tls ?? {}
      if (!isByName && !takesPlain) {
        passOn(server, handshakes, socket)
        return
      }
      awaitHello(socket, { timeoutMs: HEAD_TIMEOUT_MS, isByName }, (name) => {
        if (name === undefined && takesPlain) plain(socket)
        else if (!isByName) passOn(server, handshakes, socket)
        else {
          const named = this.#serverFor(name ?? '', secured)
          if (named !== undefined) named.emit('connection', socket)
          else socket.end(UNRECOGNIZED_NAME, () => socket.destroy())
        }
      })
    })
  }

  /** Undefined: handshakes for the name are rejected. */
  #serverFor(name: string, secured: (socket: TLSSocket) => void): TlsServer | undefined {
    const chosen = this.#tls?.optionsFor(name)
    if (chosen === undefined) return undefined
    const known = this.#byName.get(chosen.id)
    if (known !== undefined) return known
    const { id, options, clients } = chosen
    const request = clients === undefined ? {} : { requestCert: true, rejectUnauthorized: false }
    const server = createTlsServer({ ...options, ...request, ...HANDSHAKE }, (socket) => {
      if (clients !== undefined) noteHandshake(socket, { id, clients })
      secured(socket)
    })
    server.on('tlsClientError', (error, socket) => this.#handshakeFailed(error, socket))
    this.#byName.set(id, server)
    return server
  }

  /** A failed handshake is its client's fault and not reported. A client that does not speak TLS gets an error page, as with nginx. */
  #handshakeFailed(error: Error, socket: TLSSocket): void {
    const plain = socketBelow(socket)
    const isPlain = codeOf(error) === 'ERR_SSL_HTTP_REQUEST'
    if (isPlain && plain?.writable === true && this.#sockets.has(plain)) this.#http1.plain(plain)
    else socket.destroy()
  }

  #http1Options({ maxHeaderBytes }: EngineLimits): Http1Options {
    return {
      insecureHTTPParser: false,
      // The gate asks for it, and takes nothing more from a connection where it is missing.
      requireHostHeader: false,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: HEAD_TIMEOUT_MS,
      // How long a body may take is decided for each request.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECK_MS,
      noDelay: true,
      shouldUpgradeCallback: (request: Parameters<Http1Intake['mayUpgrade']>[0]) => this.#http1.mayUpgrade(request),
    }
  }

  #http2Server({ maxHeaderBytes }: EngineLimits): Http2Server {
    const options: Http2Options = {
      maxSessionMemory: 10,
      maxOutstandingPings: 10,
      maxSettings: 32,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      // A client that navigates away may cancel all its streams in flight a few times over (CVE-2023-44487).
      streamResetBurst: 400,
      streamResetRate: 40,
      settings: {
        enablePush: false,
        enableConnectProtocol: false,
        maxConcurrentStreams: 128,
        // Twice the limit, so that a request a little over it gets a response.
        maxHeaderListSize: maxHeaderBytes * 2,
        initialWindowSize: 256 * 1024,
      },
    }
    const server = createHttp2Server(options)
    server.on('stream', (stream, _headers, flags, raw: readonly string[]) => this.#http2.stream(stream, flags, raw))
    server.on('sessionError', () => undefined)
    return server
  }

  #watch(server: HttpServer | HttpsServer): void {
    // All fields are needed, also those over the limit: fields that are not seen cannot be refused.
    server.maxHeadersCount = 0
    Object.assign(server, { httpAllowHalfOpen: true })
    // Before the server sets its time limits for the connection.
    server.prependListener('connection', (socket: Socket) => this.#opened(socket))
    server.on('request', (request, response) => {
      this.#new?.used(request.socket)
      this.#http1.request(request, response)
    })
    server.on('checkContinue', (request, response) =>
      this.#http1.request(request, response, { beforeHandling: () => response.writeContinue() }),
    )
    server.on('checkExpectation', (request, response) => this.#http1.request(request, response, { fault: unknownExpectation }))
    server.on('upgrade', (request, socket, rest) => this.#http1.upgrade(request, socket as Socket, rest))
    server.on('connect', (request, socket) => this.#http1.connect(request, socket as Socket))
    server.on('clientError', (error, socket) => this.#http1.failed(error, socket as Socket))
    server.on('timeout', (socket) => this.#http1.idle(socket))
  }

  #opened(socket: Socket): void {
    const { idleTimeoutMs } = this.#context.limits()
    this.#server.timeout = idleTimeoutMs
    this.#server.keepAliveTimeout = idleTimeoutMs
    this.#sockets.add(socket)
    this.#new?.opened(socket)
    this.#onConnections(1)
    socket.once('end', () => this.#http1.halfClosed(socket))
    socket.once('close', () => this.#forget(socket))
  }

  #forget(socket: Socket): void {
    if (this.#sockets.delete(socket)) this.#onConnections(-1)
  }
}

type Listeners = ReturnType<NetServer['listeners']>

/** Takes the listeners for new connections from a server, for `passOn`. */
function takeListeners(server: NetServer): Listeners {
  const taken = server.listeners('connection')
  server.removeAllListeners('connection')
  return taken
}

function passOn(server: NetServer, listeners: Listeners, socket: Socket): void {
  for (const listener of listeners) Reflect.apply(listener, server, [socket])
}

/** Reads the header of the PROXY protocol before the server gets a connection. One without a valid header is closed, as in nginx. */
function awaitProxyHeaders(server: NetServer): void {
  const listeners = takeListeners(server)
  server.on('connection', (socket: Socket) => {
    readFirstBytes(socket, HEAD_TIMEOUT_MS, parseProxyHeader, (header) => {
      if (header === 'broken') {
        socket.destroy()
        return
      }
      noteProxied(socket, header)
      passOn(server, listeners, socket)
    })
  })
}
