import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { asError } from '@svc/core'
import WebSocket from 'ws'
import { MAX_MESSAGE_BYTES } from '../../engine/web-socket-rules.ts'
import type { Peer } from '../balance/peer.ts'
import { UpstreamError } from '../errors.ts'
import { parsePlace } from '../http/addresses.ts'
import { isConnectionField } from '../http/answer-head.ts'
import { type Dialing, dial } from '../http/dial.ts'
import type { HttpOriginSettings } from '../http/origin-settings.ts'
import type { OriginRequest } from '../origin.ts'

/** How opening ends: one of the three, once. */
export interface OpeningEvents {
  /** The upstream agreed. Paused: nothing is lost before somebody listens. `release` is to be called when it has closed. */
  opened(socket: WebSocket, response: IncomingMessage, release: () => void): void
  /** The upstream answered something else. */
  refused(response: IncomingMessage): void
  failed(error: Error): void
}

/** Opens a WebSocket to a group: to one server after another, until one accepts the connection. */
export class UpstreamOpening {
  readonly #settings: HttpOriginSettings
  readonly #request: OriginRequest
  readonly #protocols: readonly string[]
  readonly #events: OpeningEvents
  readonly #tried: Peer[] = []
  #peer: Peer | undefined
  #dialing: Dialing | undefined
  #socket: WebSocket | undefined
  #isOver = false

  constructor(settings: HttpOriginSettings, request: OriginRequest, protocols: readonly string[], events: OpeningEvents) {
    this.#settings = settings
    this.#request = request
    this.#protocols = protocols
    this.#events = events
  }

  /** To be called once. */
  start(): void {
    this.#next(undefined)
  }

  /** The client has left. Nothing follows; an open socket is closed. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#dialing?.abort()
    this.#socket?.terminate()
    this.#release('passed')
  }

  #next(failure: UpstreamError | undefined): void {
    if (this.#isOver) return
    const { group, nextUpstream, connections, tls, timeouts } = this.#settings
    if (failure !== undefined) {
      this.#release('failed')
      const isSkipped = failure.code === 'UPSTREAM_TIMEOUT' ? nextUpstream.onTimeout : nextUpstream.onError
      if (!isSkipped || this.#tried.length >= group.size) {
        this.#fail(failure)
        return
      }
    }
    const peer = group.choose(this.#request.clientAddress ?? '', this.#tried)
    const place = peer === undefined ? undefined : parsePlace(peer.spec.address)
    this.#peer = peer
    if (peer === undefined || place === undefined) {
      this.#release('passed')
      this.#fail(failure ?? new UpstreamError('UPSTREAM_NONE_LEFT', `no server of ${group.spec.name} is in service`))
      return
    }
    this.#tried.push(peer)
    const options = {
      transport: { place, tls },
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
      // The address is only for the library: the connection is there, and host and target are set below, as they are.
      this.#socket = new WebSocket('ws://upstream/', [...this.#protocols], {
        createConnection: () => socket,
        headers: handshakeFields(this.#request, host),
        handshakeTimeout: timeouts.readMs,
        maxPayload: MAX_MESSAGE_BYTES,
        finishRequest(request) {
          request.path = target
          request.end()
        },
      })
    } catch (error) {
      socket.destroy()
      this.#release('passed')
      this.#fail(new UpstreamError('UPSTREAM_UNREACHABLE', 'the handshake cannot be written', { cause: asError(error) }))
      return
    }
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
      this.#isOver = true
      socket.pause()
      this.#events.opened(socket, response, () => this.#release('answered'))
    })
    socket.on('unexpected-response', (_request, refusal) => {
      if (this.#isOver) return
      this.#isOver = true
      this.#release('answered')
      this.#events.refused(refusal)
    })
    socket.on('error', (error) => {
      if (this.#isOver) return
      const isLate = error.message.includes('timed out')
      this.#release('failed')
      this.#fail(new UpstreamError(isLate ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_BAD_ANSWER', error.message, { cause: error }))
    })
  }

  #release(outcome: 'answered' | 'failed' | 'passed'): void {
    const peer = this.#peer
    this.#peer = undefined
    if (peer !== undefined) this.#settings.group.release(peer, outcome)
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.failed(error)
  }
}

/** Without what the library writes itself. */
function handshakeFields({ headers }: OriginRequest, host: string): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = { host }
  for (const [name, value] of headers) {
    if (isConnectionField(name) || name.startsWith('sec-websocket-')) continue
    const known = name === 'host' ? undefined : fields[name]
    fields[name] = known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]
  }
  return fields
}
