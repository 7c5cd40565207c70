import type { IncomingMessage } from 'node:http'
import type { HeaderList, WebSocketOffer } from '@svc/http'
import type { AnswerReceiver } from '../http/http-call.ts'
import type { HttpOrigin } from '../http/http-origin.ts'
import type { OriginRequest } from '../origin/origin.ts'
import { fieldsOf } from './answer-fields.ts'
import { joinSockets } from './joined-sockets.ts'
import { Refusal } from './refusal.ts'
import { UpstreamOpening } from './upstream-opening.ts'

/** Where a bridge tells what became of it, until it stands. */
interface BridgeAnswer extends AnswerReceiver {
  /** To be called before anything comes. */
  attach(flow: { resume(): void; abort(): void }): void
  /** The client has been told that the protocol is switched. */
  switched(): void
}

/** A wish for a WebSocket that is passed on. */
interface BridgeOptions {
  readonly origin: HttpOrigin
  /** As for any other request to the upstream. */
  readonly request: OriginRequest
  readonly offer: WebSocketOffer
  /** What clients get of the fields with which the upstream agrees. */
  readonly filter: (fields: HeaderList) => HeaderList
  /** Gets what the upstream answers in place of a switch. */
  readonly answer: BridgeAnswer
}

/** Fields of the handshake that each side makes for itself. */
const OF_HANDSHAKE: ReadonlySet<string> = new Set(['sec-websocket-accept', 'sec-websocket-extensions', 'sec-websocket-protocol'])

/**
 * Opens a WebSocket to the upstream and, when that has agreed, one to the client, and passes messages between them. What the
 * upstream answers in place of agreeing is answered to the client.
 */
export function bridgeWebSocket({ origin, request, offer, filter, answer }: BridgeOptions): void {
  const { readMs } = origin.settings.timeouts
  let refusal: Refusal | undefined
  const opening = new UpstreamOpening(origin.settings, request, offer.protocols, {
    opened(socket, response, release) {
      const accepted = acceptance(response, filter)
      joinSockets({ upstream: socket, accept: (events) => offer.accept(accepted, events), idleMs: readMs, release })
      answer.switched()
    },
    refused(response) {
      refusal = new Refusal(response, answer, readMs)
      refusal.start()
    },
    failed: (error) => answer.fail(error),
  })
  answer.attach({
    resume: () => refusal?.resume(),
    abort() {
      opening.abort()
      refusal?.abort()
    },
  })
  opening.start()
}

/** What the client is told: the subprotocol that the upstream chose, and the fields of its answer. */
function acceptance(response: IncomingMessage, filter: BridgeOptions['filter']): Parameters<WebSocketOffer['accept']>[0] {
  const fields = fieldsOf(response)
  const protocol = fields.find(([name]) => name === 'sec-websocket-protocol')?.[1]
  const headers = filter(fields).filter(([name]) => !OF_HANDSHAKE.has(name))
  return protocol === undefined ? { headers } : { protocol, headers }
}
