import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { asError } from '@svc/core'
import { MAX_MESSAGE_BYTES } from '@svc/http'
import type { WebSocket } from 'ws'
import { UpstreamError } from '../errors/errors.ts'
import { notAPlace } from '../http/addresses.ts'
import { isConnectionField } from '../http/answer-head.ts'
import { MAX_INTERIM } from '../http/answer-parser.ts'
import { type Dialing, dial } from '../http/dial.ts'
import { LazyTimer } from '../http/lazy-timer.ts'
import type { HttpOriginSettings } from '../http/origin-settings.ts'
import { isTarget } from '../http/request-head.ts'
import { ServerAttempts } from '../http/server-attempts.ts'
import type { OriginRequest } from '../origin/origin.ts'
import { parseServerAddress } from '../resolver/server-address.ts'

/** How opening ends: one of the three, once. */
interface OpeningEvents {
  /** The upstream agreed. Paused: nothing is lost before a listener is attached. `release` is to be called when it has closed. */
  opened(socket: WebSocket, response: IncomingMessage, release: () => void): void
  /** The upstream answered something else. */
  refused(response: IncomingMessage): void
  failed(error: Error): void
}

/** A WebSocket to open. */
interface OpeningOptions {
  readonly settings: HttpOriginSettings
  readonly request: OriginRequest
  readonly protocols: readonly string[]
  readonly client: typeof WebSocket
}

/** Opens a WebSocket to a group: tries one server after another, as any other request does, until one responds. */
export class UpstreamOpening {
  readonly #settings: HttpOriginSettings
  readonly #request: OriginRequest
  readonly #protocols: readonly string[]
  readonly #events: OpeningEvents
  readonly #client: typeof WebSocket
  readonly #attempts: ServerAttempts
  readonly #timer: LazyTimer
  #dialing: Dialing | undefined
  /** Of the server whose turn it is, from the handshake on. */
  #socket: WebSocket | undefined
  #isOver = false

  constructor({ settings, request, protocols, client }: OpeningOptions, events: OpeningEvents) {
    this.#settings = settings
    this.#client = client
    this.#request = request
    this.#protocols = protocols
    this.#events = events
    this.#attempts = new ServerAttempts(settings, request)
    this.#timer = new LazyTimer(() => {
      const name = this.#attempts.current?.spec.address
      this.#broken(new UpstreamError('UPSTREAM_TIMEOUT', `${name}: no response in ${settings.timeouts.readMs} ms`))
    })
  }

  /** To be called once. */
  start(): void {
    const known = this.#settings.group.prepare()
    if (known === undefined) this.#next(undefined)
    else
      known.then(
        () => this.#next(undefined),
        (error) => this.#fail(asError(error)),
      )
  }

  /** The client has left. Nothing follows. */
  abort(): void {
    if (this.#isOver) return
    this.#end()
    this.#dialing?.abort()
    this.#socket?.terminate()
    this.#attempts.release('passed')
  }

  #next(failure: UpstreamError | undefined): void {
    if (this.#isOver) return
    const peer = this.#attempts.next(failure, true)
    if (peer instanceof UpstreamError) {
      this.#fail(peer)
      return
    }
    const server = parseServerAddress(peer.spec.address)
    if (server === undefined) {
      this.#next(notAPlace(peer.spec.address))
      return
    }
    const { connections, tls, timeouts } = this.#settings
    const options = {
      transport: { server, tls },
      addresses: connections.addresses,
      timeoutMs: timeouts.connectMs,
      onread: undefined,
    }
    this.#dialing = dial(options, {
      connected: (socket) => this.#shakeHands(socket),
      failed: (error) => this.#next(error),
    })
  }

  #shakeHands(socket: Socket): void {
    this.#dialing = undefined
    const { timeouts, host } = this.#settings
    const { target } = this.#request
    try {
      if (!isTarget(target)) throw new Error('the request target is malformed')
      // The address is only for the library: the connection is there, and host and target are set below, as they are.
      this.#socket = new this.#client('ws://upstream/', [...this.#protocols], {
        createConnection: () => socket,
        headers: handshakeFields(this.#request, host),
        maxPayload: MAX_MESSAGE_BYTES,
        finishRequest(request: ClientRequest) {
          limitInterim(request)
          request.path = target
          request.end()
        },
      })
    } catch (error) {
      socket.destroy()
      this.#attempts.release('passed')
      this.#fail(new UpstreamError('UPSTREAM_UNREACHABLE', 'cannot write the WebSocket handshake', { cause: asError(error) }))
      return
    }
    this.#timer.set(timeouts.readMs)
    this.#listen(this.#socket)
  }

  #listen(socket: WebSocket): void {
    let response: IncomingMessage | undefined
    socket.on('upgrade', (head) => {
      response = head
      // A server may choose none (RFC 6455 section 4.2.2), which the library takes for a fault.
      const [first] = this.#protocols
      if (first !== undefined) head.headers['sec-websocket-protocol'] ??= first
    })
    socket.on('open', () => {
      if (this.#isOver || response === undefined) return
      this.#end()
      socket.pause()
      this.#events.opened(socket, response, () => this.#attempts.release('answered'))
    })
    socket.on('unexpected-response', (_request, refusal) => {
      if (!this.#isOver && socket === this.#socket) this.#refused(refusal)
    })
    socket.on('error', (error) => {
      if (!this.#isOver && socket === this.#socket) this.#broken(handshakeError(error))
    })
  }

  #refused(response: IncomingMessage): void {
    if (this.#attempts.leaves(response.statusCode ?? 0, true)) {
      this.#cut()
      this.#next(undefined)
      return
    }
    this.#end()
    this.#attempts.release('answered')
    this.#events.refused(response)
  }

  #broken(error: UpstreamError): void {
    this.#cut()
    this.#next(error)
  }

  /** Leaves the current server. Later events of it are ignored. */
  #cut(): void {
    this.#timer.clear()
    const socket = this.#socket
    this.#socket = undefined
    socket?.terminate()
  }

  #end(): void {
    this.#isOver = true
    this.#timer.close()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#end()
    this.#events.failed(error)
  }
}

/** As with any other request, a server does not get on with interim answers alone. */
function limitInterim(request: ClientRequest): void {
  let left = MAX_INTERIM
  request.on('information', () => {
    if (--left < 0) request.destroy(new Error('too many interim responses'))
  })
}

/** The connection broke, or the response is not a handshake. Errors of the system have a code, as those of the parser have. */
function handshakeError(error: Error & { readonly code?: unknown }): UpstreamError {
  const isOfSystem = typeof error.code === 'string' && !error.code.startsWith('HPE_')
  return new UpstreamError(isOfSystem ? 'UPSTREAM_UNREACHABLE' : 'UPSTREAM_BAD_ANSWER', error.message, { cause: error })
}

/** Without the fields that the library writes itself. */
function handshakeFields({ headers }: OriginRequest, host: string): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = { host }
  for (const [name, value] of headers) {
    if (isConnectionField(name) || name.startsWith('sec-websocket-')) continue
    const known = name === 'host' ? undefined : fields[name]
    fields[name] = known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]
  }
  return fields
}
