import type { EngineContext } from '../listener/exchange-watch.ts'
import type { NodeHeads } from './node-head.ts'
import type { WebSocketHub } from './web-socket-hub.ts'

/** State shared by all exchanges of one engine. */
export interface NodeContext extends EngineContext {
  readonly heads: NodeHeads
  readonly webSockets: WebSocketHub
}
