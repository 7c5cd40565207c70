import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { HeaderList, WebSocketEvents, WebSocketPeer } from '@svc/http'
import { IDLE_TIMEOUT_SECONDS, MAX_MESSAGE_BYTES } from '@svc/http'
import { WebSocketServer } from 'ws'
import { NodeWebSocket } from './node-web-socket.ts'

/** A WebSocket upgrade request, with its connection: no response has been sent yet. */
export interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly socket: Socket
  /** To be called before the connection is used for something other than a response. Returns the bytes that the client sent after the request. */
  readonly onSwitch: () => Buffer
}

/** How a WebSocket is opened. */
interface UpgradeAnswer {
  readonly protocol: string | undefined
  /** Safe to write. */
  readonly fields: HeaderList
  readonly events: WebSocketEvents
  /** Called once, when it has closed. */
  readonly onEnd: () => void
}

/** Opens WebSockets, keeps them, and finds out which clients have vanished. */
export class WebSocketHub {
  readonly #onProblem: (error: unknown) => void
  readonly #open = new Map<NodeWebSocket, () => void>()
  readonly #answers = new WeakMap<IncomingMessage, UpgradeAnswer>()
  readonly #server: WebSocketServer
  #timer: NodeJS.Timeout | undefined
  #isLeaving = false

  constructor(onProblem: (error: unknown) => void) {
    this.#onProblem = onProblem
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Memory for each connection, and a few bytes that unpack to many: not worth what it saves.
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      handleProtocols: (_offered, request) => this.#answers.get(request)?.protocol ?? false,
    })
    this.#server.on('headers', (lines, request) => {
      for (const [name, value] of this.#answers.get(request)?.fields ?? []) lines.push(`${name}: ${value}`)
    })
  }

  /** Answers with 101 and opens the WebSocket. Undefined: the connection has gone, or the request does not ask for a WebSocket. */
  open({ request, socket, onSwitch }: UpgradeRequest, answer: UpgradeAnswer): WebSocketPeer | undefined {
    let opened: NodeWebSocket | undefined
    const rest = onSwitch()
    this.#answers.set(request, answer)
    this.#server.handleUpgrade(request, socket, rest, (webSocket) => {
      opened = new NodeWebSocket(webSocket, answer.events, {
        ended: (ended) => this.#ended(ended),
        problem: this.#onProblem,
      })
    })
    if (opened === undefined) return undefined
    this.#open.set(opened, answer.onEnd)
    this.#timer ??= setInterval(() => this.#sweep(), (IDLE_TIMEOUT_SECONDS / 2) * 1000).unref()
    if (this.#isLeaving) opened.close(1001, 'going away')
    return opened
  }

  /** Closes all, and those that are opened from now on. */
  leave(): void {
    this.#isLeaving = true
    for (const socket of [...this.#open.keys()]) socket.close(1001, 'going away')
  }

  #ended(socket: NodeWebSocket): void {
    const onEnd = this.#open.get(socket)
    this.#open.delete(socket)
    if (this.#open.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    onEnd?.()
  }

  /** Drops clients that did not answer the ping of the sweep before. */
  #sweep(): void {
    for (const socket of [...this.#open.keys()]) {
      if (!socket.isAlive) socket.terminate()
      socket.isAlive = false
      socket.ping()
    }
  }
}
