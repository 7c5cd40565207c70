import type { RepeatableBody } from '@svc/http'
import type { Peer } from '../balance/peer.ts'
import type { UpstreamGroup } from '../balance/upstream-group.ts'
import type { OriginRequest } from '../origin/origin.ts'
import type { UpstreamConnection } from './connection.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { NextUpstream, UpstreamTimeouts } from './origin-settings.ts'

/** Sends one request on one connection, in the language of its upstream. */
export interface CallSender {
  /** True if more of the request is to be handed to the socket. */
  readonly isSending: boolean
  /** False: the request cannot be written. */
  start(request: OriginRequest, body: RepeatableBody | undefined): boolean
  /** Sends nothing more. */
  stop(): void
  /** The socket takes more. */
  drained(): void
  /** The client disconnected: notifies the server if its protocol can do so. The connection is cut next. */
  abandon(): void
  /** Error output of the application. */
  diagnostics(bytes: Uint8Array): void
}

/** How requests are sent to a group of servers, whatever is spoken with them. */
export interface CallSettings {
  readonly group: UpstreamGroup
  readonly timeouts: UpstreamTimeouts
  /** When another server is tried. */
  readonly nextUpstream: NextUpstream
  /** Connections to a server of the group. Undefined: its address is none. */
  pool(peer: Peer): ConnectionPool | undefined
  makeSender(connection: UpstreamConnection, pool: ConnectionPool, onBodyFailed: (error: Error) => void): CallSender
}
