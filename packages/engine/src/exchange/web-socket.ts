import { closeFrame, MESSAGE_OVERHEAD_BYTES, SEND_HIGH_WATER_BYTES, type WebSocketEvents, type WebSocketPeer } from '@svc/http'
import type { GateFault, RequestGate } from './request-gate.ts'

/** One open WebSocket, whatever the engine: counts the bytes of messages that are not acknowledged. */
export abstract class EngineWebSocket implements WebSocketPeer {
  protected readonly events: WebSocketEvents
  protected unackedBytes = 0
  readonly #onProblem: (error: unknown) => void
  #isAwaitingDrain = false

  constructor(events: WebSocketEvents, onProblem: (error: unknown) => void) {
    this.events = events
    this.#onProblem = onProblem
  }

  abstract send(data: Uint8Array, isBinary: boolean): boolean

  abstract terminate(): void

  /** Begins the closing handshake. @param code undefined: none is sent */
  protected abstract end(code: number | undefined, reason: string): void

  /** A message has been acknowledged. */
  protected abstract acked(): void

  close(code: number, reason: string): void {
    const frame = closeFrame(code, reason)
    this.end(frame.code, frame.reason)
  }

  /** @returns false: the sender has to wait */
  protected queued(waitingBytes: number): boolean {
    if (waitingBytes < SEND_HIGH_WATER_BYTES) return true
    this.#isAwaitingDrain = true
    return false
  }

  /** Bytes have been handed over: lets a sender go on that was told to wait. */
  protected handedOver(waitingBytes: number): void {
    if (!this.#isAwaitingDrain || waitingBytes > SEND_HIGH_WATER_BYTES / 2) return
    this.#isAwaitingDrain = false
    this.call(() => this.events.drained())
  }

  /** @param data belongs to the receiver */
  protected message(data: Uint8Array, isBinary: boolean): void {
    const bytes = data.byteLength + MESSAGE_OVERHEAD_BYTES
    this.unackedBytes += bytes
    let isAcked = false
    const ack = () => {
      if (isAcked) return
      isAcked = true
      this.unackedBytes -= bytes
      this.acked()
    }
    this.call(() => this.events.message(data, isBinary, ack))
  }

  protected call(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#onProblem(error)
    }
  }
}

const closedPeer: WebSocketPeer = Object.freeze({ send: () => true, close: () => undefined, terminate: () => undefined })

/** The WebSocket of a client that disconnected before it was answered. */
export function vanishedPeer(events: WebSocketEvents, onProblem: (error: unknown) => void): WebSocketPeer {
  setImmediate(() => {
    try {
      events.closed(1006, '')
    } catch (error) {
      onProblem(error)
    }
  })
  return closedPeer
}

/** The contents of a WebSocket upgrade request. */
export interface WebSocketWish {
  /** Of the request, for the response to it (RFC 6455 section 4.2.2). */
  readonly key: string
  /** Subprotocols that the client offers, in its order. */
  readonly protocols: readonly string[]
}

/** Sixteen bytes in base64. */
const keyPattern = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * Reads the wish of the request in a gate for a WebSocket (RFC 6455 section 4.2.1). Undefined: it has none. A fault: it has one
 * that is broken. Without a key it is some other upgrade, which every server may ignore (RFC 9110 section 7.8).
 */
export function readWebSocketWish(gate: RequestGate, method: string): WebSocketWish | GateFault | undefined {
  if (!gate.isSpecial || method !== 'GET') return undefined
  const key = gate.field('sec-websocket-key')
  if (key === undefined || !hasToken(gate, 'upgrade', 'websocket') || !hasToken(gate, 'connection', 'upgrade')) return undefined
  if (gate.field('sec-websocket-version') !== '13') return { status: 426, code: 'websocket_version' }
  if (!keyPattern.test(key) || count(gate, 'sec-websocket-key') > 1) return { status: 400, code: 'bad_websocket_key' }
  const protocols = listOf(gate, 'sec-websocket-protocol')
  const isGood = protocols.every((protocol) => tokenPattern.test(protocol)) && new Set(protocols).size === protocols.length
  return isGood ? { key, protocols } : { status: 400, code: 'bad_websocket_protocol' }
}

function hasToken(gate: RequestGate, field: string, token: string): boolean {
  return listOf(gate, field).some((one) => one.toLowerCase() === token)
}

/** The members of all fields of a name (RFC 9110 section 5.6.1). */
function listOf({ fields }: RequestGate, name: string): string[] {
  const found: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] === name) found.push(...(fields[i + 1] ?? '').split(',').map((member) => member.trim()))
  }
  return found.filter((member) => member !== '')
}

function count({ fields }: RequestGate, name: string): number {
  return fields.filter((field, at) => at % 2 === 0 && field === name).length
}
