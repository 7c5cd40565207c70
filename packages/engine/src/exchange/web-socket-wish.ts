import type { GateFault, RequestGate } from './request-gate.ts'

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
