import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { codeOf, entryOf } from '@svc/core'
import { statusLine } from '@svc/http'
import { LINGER_MS } from '../exchange/lingering.ts'
import type { GateFault } from '../exchange/request-gate.ts'
import { Http1Fields } from './field-sources.ts'
import { Http1Wire } from './http1-wire.ts'
import { NodeConnection } from './node-connection.ts'
import type { NodeContext, NodeExchange } from './node-exchange.ts'
import { type Arrival, type IntakeListener, MAX_FIELDS, type NodeIntake, peerAddress, serverNameOf } from './node-intake.ts'

/** Requests of a connection that wait for the one before, past which it is not read. */
const MAX_WAITING = 16

interface WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly more: Partial<Pick<Arrival, 'beforeHandling' | 'fault'>>
}

/** State of a connection. */
interface Http1Connection {
  readonly peer: string
  readonly serverName: string | undefined
  readonly facts: NodeConnection
  current: NodeExchange | undefined
  readonly waiting: WaitingRequest[]
  /** Why nothing more is taken from it; sent once the earlier requests have their responses. */
  fault: GateFault | undefined
  /** True if nothing more is taken from it. */
  isFinal: boolean
}

/** Why the parser of Node refuses a request. */
const parserFaults: Readonly<Record<string, GateFault>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'head_too_large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: 'chunk_extensions_too_large' },
  HPE_INVALID_VERSION: { status: 505, code: 'bad_version' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'head_timeout' },
}

/** Texts of refusals that replace their status line. */
const refusalTexts: Readonly<Record<string, string>> = { plain_http: 'The plain HTTP request was sent to HTTPS port' }

/** The intake of requests, and that of requests without TLS where TLS is spoken. */
interface Http1Intakes {
  readonly intake: NodeIntake
  readonly plain: NodeIntake | undefined
}

/** Takes the HTTP/1 requests of a listener, those of one connection one after the other. */
export class Http1Intake {
  readonly #origin: IntakeListener
  readonly #intakes: Http1Intakes
  readonly #context: NodeContext
  readonly #isTcp: boolean
  readonly #fields = new Http1Fields()
  readonly #connections = new WeakMap<Socket, Http1Connection>()

  /** @param isTcp true if connections come by TCP, not by a unix socket */
  constructor(origin: IntakeListener, intakes: Http1Intakes, context: NodeContext, isTcp: boolean) {
    this.#origin = origin
    this.#intakes = intakes
    this.#context = context
    this.#isTcp = isTcp
  }

  /** A request has come; those before it on its connection may still be pending. */
  request(request: IncomingMessage, response: ServerResponse, more: WaitingRequest['more'] = {}): void {
    const connection = this.#connectionOf(request.socket)
    if (connection.isFinal) return
    if (connection.current === undefined && connection.waiting.length === 0) {
      this.#take(connection, { request, response, more })
      return
    }
    connection.waiting.push({ request, response, more })
    if (connection.waiting.length > MAX_WAITING) request.socket.pause()
  }

  /** True if a request may leave HTTP/1: WebSockets, unless answers to requests before it are pending, or its body comes first. */
  mayUpgrade(request: IncomingMessage): boolean {
    const connection = this.#connections.get(request.socket)
    const isFree = connection === undefined || (connection.current === undefined && connection.waiting.length === 0)
    return (
      isFree &&
      this.#plainIntake(request.socket) === undefined &&
      connection?.isFinal !== true &&
      request.method === 'GET' &&
      request.headers['sec-websocket-key'] !== undefined &&
      !hasBody(request)
    )
  }

  /** A request wants to leave HTTP/1: its connection is no longer read by the parser. */
  upgrade(request: IncomingMessage, socket: Socket, rest: Buffer): void {
    // Without the parser there is no other listener.
    socket.on('error', () => undefined)
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    // The parser would have ended the connection behind the response.
    const waiting = new WaitingSocket(socket, rest)
    response.once('finish', () => {
      waiting.release()
      response.detachSocket(socket)
      socket.end()
      lingerThenDestroy(socket)
    })
    const onSwitch = () => {
      response.detachSocket(socket)
      return waiting.release()
    }
    const connection = this.#connectionOf(socket)
    const upgrade = { request, socket, onSwitch }
    const exchange = this.#intakes.intake.take({ ...this.#arrivalOf(connection, request, response), hasBody: false, upgrade })
    if (exchange !== undefined) waiting.listen(() => exchange.halfClosed())
  }

  /** The parser rejected a connection, or one of its time limits expired. */
  failed(error: Error, socket: Socket): void {
    const connection = this.#connectionOf(socket)
    const code = codeOf(error)
    // Don't answer a client that sent nothing.
    if (!socket.writable || socket.bytesRead === 0 || code === 'ECONNRESET' || code === 'EPIPE') {
      socket.destroy()
      return
    }
    if (connection.isFinal) return
    connection.isFinal = true
    const fault = parserFaults[code ?? ''] ?? { status: 400, code: 'bad_request' }
    if (connection.current === undefined) {
      this.#refuseRaw(connection, socket, fault)
      return
    }
    connection.fault = fault
    connection.current.inputFailed()
  }

  /** A request came without TLS where TLS is spoken. @param socket the connection below TLS */
  plain(socket: Socket): void {
    socket.on('error', () => undefined)
    this.#refuseRaw(this.#connectionOf(socket), socket, { status: 400, code: 'plain_http' })
  }

  /** A request wants a tunnel: there is none. */
  connect(request: IncomingMessage, socket: Socket): void {
    socket.on('error', () => undefined)
    const connection = this.#connectionOf(socket)
    if (connection.isFinal) return
    const fault = { status: 400, code: 'no_tunnel' }
    connection.isFinal = true
    if (connection.current === undefined) this.#refuseRaw(connection, socket, fault, request.method, request.url)
    else connection.fault = fault
  }

  /** The client has half-closed. */
  halfClosed(socket: Socket): void {
    this.#connections.get(socket)?.current?.halfClosed()
  }

  /** Nothing has gone on for the idle time. */
  idle(socket: Socket): void {
    const connection = this.#connections.get(socket)
    // A pending request has time limits of its own.
    if (connection?.current === undefined || connection.current.isOver) socket.destroy()
  }

  /** Answers without a response object and closes the connection. */
  #refuseRaw(connection: Http1Connection, socket: Socket, { status, code }: GateFault, method = '', target = ''): void {
    const { listener } = this.#origin
    this.#context.refused({ status, code, listener, remoteAddress: connection.peer, method, target, request: undefined })
    const line = statusLine(status)
    const body = `${refusalTexts[code] ?? line}\n`
    const fields = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close`
    socket.end(`HTTP/1.1 ${line}\r\n${fields}\r\n\r\n${body}`, 'latin1')
    lingerThenDestroy(socket)
  }

  #take(connection: Http1Connection, { request, response, more }: WaitingRequest): void {
    const arrival = { ...this.#arrivalOf(connection, request, response), ...more }
    const plain = this.#plainIntake(request.socket)
    if (plain !== undefined) response.shouldKeepAlive = false
    const exchange = (plain ?? this.#intakes.intake).take(arrival)
    if (exchange === undefined) connection.isFinal ||= arrival.wire.wantsClose
    if (exchange === undefined || exchange.out.destroyed) return
    connection.current = exchange
    if (request.socket.readableEnded) exchange.halfClosed()
    response.once('close', () => this.#next(connection, exchange, request.socket))
  }

  /** The response before has left: the next request may run. */
  #next(connection: Http1Connection, ended: NodeExchange, socket: Socket): void {
    if (connection.current !== ended) return
    connection.current = undefined
    if (ended.hasClosed || socket.destroyed) {
      connection.isFinal = true
      connection.waiting.splice(0)
      return
    }
    while (connection.current === undefined) {
      const waiting = connection.waiting.shift()
      if (waiting === undefined) break
      if (connection.waiting.length === 0) socket.resume()
      this.#take(connection, waiting)
    }
    if (connection.current === undefined && connection.fault !== undefined) this.#refuseRaw(connection, socket, connection.fault)
  }

  #arrivalOf(connection: Http1Connection, request: IncomingMessage, response: ServerResponse): Arrival {
    connection.facts.place++
    const { target, authority } = originForm(request.url ?? '')
    return {
      method: request.method ?? '',
      target,
      fields: this.#fields.set(request.rawHeaders, authority),
      httpVersion: request.httpVersionMinor === 0 ? '1.0' : '1.1',
      peer: connection.peer,
      serverName: connection.serverName,
      connection: connection.facts,
      wire: new Http1Wire(request, response, this.#isTcp && this.#origin.scheme === 'http'),
      body: { stream: request, hasArrived: () => request.complete, isBroken: () => !request.complete },
      hasBody: undefined,
      fault: faultOf(request),
      upgrade: undefined,
    }
  }

  #plainIntake(socket: Socket): NodeIntake | undefined {
    return socket instanceof TLSSocket ? undefined : this.#intakes.plain
  }

  #connectionOf(socket: Socket): Http1Connection {
    return entryOf(this.#connections, socket, () => {
      const serverName = socket instanceof TLSSocket ? serverNameOf(socket) : undefined
      const none = { current: undefined, waiting: [], fault: undefined, isFinal: false }
      const facts = new NodeConnection(this.#context.numberConnection(), socket)
      return { peer: peerAddress(socket), serverName, facts, ...none }
    })
  }
}

/** The fault of a request beside its contents. */
function faultOf({ httpVersionMajor, rawHeaders }: IncomingMessage): GateFault | undefined {
  if (httpVersionMajor !== 1) return { status: 505, code: 'bad_version' }
  return rawHeaders.length > 2 * MAX_FIELDS ? { status: 431, code: 'too_many_fields' } : undefined
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function lingerThenDestroy(socket: Socket): void {
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Takes a target in absolute form apart (RFC 9112 section 3.2.2). */
function originForm(target: string): { target: string; authority: string | undefined } {
  if (target.charCodeAt(0) === 0x2f) return { target, authority: undefined }
  const found = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target)
  if (found === null) return { target, authority: undefined }
  const [, authority = '', rest = ''] = found
  return { target: rest.startsWith('/') ? rest : `/${rest}`, authority }
}

/**
 * The connection of a request that wants to leave HTTP/1, while its response is pending: the parser is detached. It is read so
 * that a disconnect is noticed. A client that sends data before the response waits behind the bytes read first.
 */
class WaitingSocket {
  readonly #socket: Socket
  readonly #heard: Buffer[]
  #isReleased = false

  /** @param rest the bytes after the request */
  constructor(socket: Socket, rest: Buffer) {
    this.#socket = socket
    this.#heard = [rest]
  }

  /** Begins to read, unless the connection was released meanwhile. `onEnd`: the client sends nothing more. */
  listen(onEnd: () => void): void {
    if (this.#isReleased || this.#socket.destroyed) return
    this.#socket.on('data', this.#hear)
    this.#socket.once('end', onEnd)
  }

  /** Ends reading; the connection flows to the listener attached in this turn. Returns the bytes after the request. */
  release(): Buffer {
    this.#isReleased = true
    this.#socket.off('data', this.#hear)
    if (this.#heard.length > 1) this.#socket.resume()
    return Buffer.concat(this.#heard.splice(0))
  }

  readonly #hear = (bytes: Buffer): void => {
    this.#heard.push(bytes)
    this.#socket.pause()
  }
}
