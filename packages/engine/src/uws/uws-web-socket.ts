import type { WebSocket } from 'uWebSockets.js'
import { MAX_UNACKED_BYTES, type WebSocketEvents } from '@svc/http'
import { EngineWebSocket } from '../exchange/web-socket.ts'

/** User data of a WebSocket: the library copies the properties of the object that it is given. */
export interface SocketState {
  readonly owner: UwsWebSocket
}

/** One WebSocket on uWebSockets.js, which cannot stop reading: a receiver that does not acknowledge loses the connection in the end. */
export class UwsWebSocket extends EngineWebSocket {
  readonly #onEnd: () => void
  #socket: WebSocket<SocketState> | undefined

  /** @param onEnd called once, when it has closed */
  constructor(events: WebSocketEvents, onEnd: () => void, onProblem: (error: unknown) => void) {
    super(events, onProblem)
    this.#onEnd = onEnd
  }

  /** The library has switched over. */
  opened(socket: WebSocket<SocketState>): void {
    this.#socket = socket
  }

  send(data: Uint8Array, isBinary: boolean): boolean {
    const socket = this.#socket
    socket?.send(data, isBinary)
    // It closes itself when far too much is waiting.
    return socket === undefined || this.#socket === undefined || this.queued(socket.getBufferedAmount())
  }

  terminate(): void {
    this.#socket?.close()
  }

  protected end(code: number | undefined, reason: string): void {
    if (code === undefined) this.#socket?.end()
    else this.#socket?.end(code, reason)
  }

  protected acked(): void {
    // Reading goes on all the time.
  }

  received(message: ArrayBuffer, isBinary: boolean): void {
    // The memory belongs to the library again after this call.
    this.message(new Uint8Array(message.slice(0)), isBinary)
    if (this.unackedBytes > MAX_UNACKED_BYTES) this.close(1013, 'too much data is waiting to be sent')
  }

  pinged(): void {
    this.call(() => this.events.pinged?.())
  }

  drained(): void {
    this.handedOver(this.#socket?.getBufferedAmount() ?? 0)
  }

  closed(code: number, reason: ArrayBuffer): void {
    this.#socket = undefined
    const text = Buffer.from(reason).toString()
    this.call(() => this.events.closed(code, code === 1006 ? '' : text))
    this.#onEnd()
  }
}
