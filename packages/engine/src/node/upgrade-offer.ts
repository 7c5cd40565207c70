import type { WebSocketEvents, WebSocketOffer, WebSocketPeer } from '@svc/http'
import { safeHead } from '../exchange/safe-head.ts'
import type { WebSocketWish } from '../exchange/web-socket-wish.ts'
import type { NodeContext } from './node-context.ts'
import type { NodeExchange } from './node-exchange.ts'
import type { UpgradeRequest } from './web-socket-hub.ts'

const closedPeer: WebSocketPeer = Object.freeze({ send: () => true, close: () => undefined, terminate: () => undefined })

/** The offer that an exchange makes for a request that wants to speak WebSocket. */
export function acceptWebSocket(
  exchange: NodeExchange,
  upgrade: UpgradeRequest,
  wish: WebSocketWish,
  context: NodeContext,
): WebSocketOffer {
  return {
    protocols: wish.protocols,
    accept: (options, events) => {
      if (!exchange.switchOver()) return vanished(events, context)
      const onProblem = (error: Error) => context.problem(error)
      const { headers } = safeHead({ status: 200, headers: options.headers ?? [] }, onProblem)
      const peer = context.webSockets.open(upgrade, {
        protocol: options.protocol,
        fields: headers,
        events,
        onEnd: () => exchange.switchEnded(),
      })
      if (peer !== undefined) return peer
      exchange.switchEnded()
      return vanished(events, context)
    },
  }
}

/** The client has gone before it was answered. */
function vanished(events: WebSocketEvents, context: NodeContext): WebSocketPeer {
  setImmediate(() => {
    try {
      events.closed(1006, '')
    } catch (error) {
      context.problem(error)
    }
  })
  return closedPeer
}
