import type { UpstreamError } from '../errors.ts'
import type { AddressBook } from './addresses.ts'
import { type ConnectionOwner, UpstreamConnection } from './connection.ts'
import { type Dialing, dial, type Transport } from './dial.ts'

/** How long a connection is kept without a request. */
const IDLE_MS = 60_000
/** How much sooner than the server says it is given up: a request must not cross its end. */
const IDLE_MARGIN_MS = 1_000

/** Told how asking for a new connection ends: one of the two, once. */
export interface ConnectEvents {
  connected(connection: UpstreamConnection): void
  failed(error: UpstreamError): void
}

/** Connections to one server. The one that was used last is used next. */
export class ConnectionPool implements ConnectionOwner {
  readonly #transport: Transport
  readonly #name: string
  readonly #addresses: AddressBook
  readonly #idle: UpstreamConnection[] = []
  readonly #maxIdle: number
  #isClosed = false

  /** @param maxIdle connections kept without a request */
  constructor(transport: Transport, name: string, addresses: AddressBook, maxIdle: number) {
    this.#transport = transport
    this.#name = name
    this.#addresses = addresses
    this.#maxIdle = maxIdle
  }

  /** A connection that has served before, if one is free. */
  take(): UpstreamConnection | undefined {
    return this.#idle.pop()
  }

  /** Makes a new connection. */
  connect(timeoutMs: number, events: ConnectEvents): Dialing {
    const connection = new UpstreamConnection(this, this.#name)
    const options = { transport: this.#transport, addresses: this.#addresses, timeoutMs, onread: connection.onread }
    return dial(options, {
      connected: (socket) => {
        connection.open(socket, this.#transport.tls === undefined)
        events.connected(connection)
      },
      failed: (error) => events.failed(error),
    })
  }

  idle(connection: UpstreamConnection, idleMs: number | undefined): void {
    const keepMs = Math.min(IDLE_MS, (idleMs ?? IDLE_MS) - IDLE_MARGIN_MS)
    if (this.#isClosed || this.#maxIdle === 0 || keepMs <= 0) {
      connection.destroy()
      return
    }
    connection.allow(keepMs, 'no further request')
    this.#idle.push(connection)
    if (this.#idle.length > this.#maxIdle) this.#idle.shift()?.destroy()
  }

  gone(connection: UpstreamConnection): void {
    const place = this.#idle.indexOf(connection)
    if (place !== -1) this.#idle.splice(place, 1)
  }

  /** Closes the idle connections; those in use close when their answers end. */
  close(): void {
    this.#isClosed = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }
}
