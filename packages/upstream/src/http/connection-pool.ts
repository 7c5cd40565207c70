import type { TurnClock } from '@svc/core'
import type { ReuseLimits } from '../balance/upstream-group.ts'
import type { UpstreamError } from '../errors/errors.ts'
import type { AddressBook } from './addresses.ts'
import { type ConnectionOwner, type MakeReader, UpstreamConnection } from './connection.ts'
import { type Dialing, dial, type Transport } from './dial.ts'

/** How long a connection is kept without a request. */
const IDLE_MS = 60_000
/** Margin by which a connection is closed before the server's announced time-out: a request must not cross its end. */
const IDLE_MARGIN_MS = 1_000

/** Told how asking for a new connection ends: one of the two, once. */
interface ConnectEvents {
  connected(connection: UpstreamConnection): void
  failed(error: UpstreamError): void
}

/** Options shared by the connections of a pool. */
interface PoolOptions {
  readonly transport: Transport
  /** Of the server, for messages. */
  readonly name: string
  readonly addresses: AddressBook
  readonly clock: Pick<TurnClock, 'turn'>
  /** Connections kept without a request. */
  readonly maxIdle: number
  /** Further limits on the reuse of connections. */
  readonly reuse: ReuseLimits | undefined
  /** How long a connection may have been idle that is used for a request which cannot be sent again. */
  readonly trustedIdleMs: number
  readonly makeReader: MakeReader
}

/** Connections to one server. The one that was used last is used next. */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: PoolOptions
  readonly #idle: UpstreamConnection[] = []
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** True if it is retired: requests for connections now get another pool. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** True if a connection may serve another request. */
  get keepsConnections(): boolean {
    return this.#options.maxIdle > 0 && !this.#isClosed
  }

  /**
   * A connection that has served before, if one is free.
   * @param isRepeatable true if the request may be sent again: if not, a connection that its server may be about to close is left
   */
  take(isRepeatable: boolean): UpstreamConnection | undefined {
    const connection = this.#idle.pop()
    if (isRepeatable || connection === undefined) return connection
    const { clock, trustedIdleMs } = this.#options
    if (clock.turn() - connection.idleSince <= trustedIdleMs) return connection
    connection.destroy()
    return undefined
  }

  /** Makes a new connection. */
  connect(timeoutMs: number, events: ConnectEvents): Dialing {
    const { name, transport, addresses, makeReader } = this.#options
    const connection = new UpstreamConnection(this, name, makeReader)
    const options = { transport, addresses, timeoutMs, onread: connection.onread }
    return dial(options, {
      connected: (socket) => {
        connection.open(socket, transport.tls === undefined)
        connection.openedAt = this.#options.clock.turn()
        events.connected(connection)
      },
      failed: (error) => events.failed(error),
    })
  }

  idle(connection: UpstreamConnection, idleMs: number | undefined): void {
    const { reuse, clock } = this.#options
    const ofServer = (idleMs ?? Number.POSITIVE_INFINITY) - IDLE_MARGIN_MS
    const keepMs = Math.min(reuse?.idleMs ?? IDLE_MS - IDLE_MARGIN_MS, ofServer)
    const now = clock.turn()
    if (!this.keepsConnections || keepMs <= 0 || (reuse !== undefined && isWorn(connection, reuse, now))) {
      connection.destroy()
      return
    }
    connection.idleSince = now
    connection.allow(keepMs, 'no further request')
    this.#idle.push(connection)
    if (this.#idle.length > this.#options.maxIdle) this.#idle.shift()?.destroy()
  }

  gone(connection: UpstreamConnection): void {
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
  }

  /** Closes the idle connections; those in use close when their responses end. */
  close(): void {
    this.#isClosed = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }
}

/** True if a connection has served as many requests, or is as old, as it may be. */
function isWorn({ served, openedAt }: UpstreamConnection, { requests, ageMs }: ReuseLimits, now: number): boolean {
  return (requests !== undefined && served >= requests) || (ageMs !== undefined && now - openedAt > ageMs)
}
