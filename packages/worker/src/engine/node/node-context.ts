import type { EngineLimits, Refusal } from '../engine.ts'
import type { WatchedExchange } from '../exchange-watch.ts'
import type { NodeHeads } from './node-head.ts'
import type { WebSocketHub } from './web-socket-hub.ts'

/** What all exchanges of one engine share. */
export interface NodeContext {
  readonly heads: NodeHeads
  readonly webSockets: WebSocketHub
  /** Whether responses ask the client to close its connection. */
  readonly isDraining: boolean
  limits(): EngineLimits
  problem(error: unknown): void
  refused(refusal: Refusal): void
  /** A request has come in. */
  began(): void
  /** The exchange is not answered by its handler and has to be watched. */
  watch(exchange: WatchedExchange): void
  /** The exchange has let go of its connection. */
  released(exchange: WatchedExchange): void
}
