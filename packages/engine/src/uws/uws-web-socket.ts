import type { WebSocket } from 'uWebSockets.js'
import type { WebSocketEvents, WebSocketPeer } from '@svc/http'
import { closeFrame, MAX_UNACKED_BYTES, MESSAGE_OVERHEAD_BYTES, SEND_HIGH_WATER_BYTES } from '@svc/http'

/** User data of a WebSocket: the library copies the properties of the object that it is given. */
export interface SocketState {
  readonly owner: UwsWebSocket
}

/** One WebSocket on uWebSockets.js, which cannot stop reading: a receiver that does not acknowledge loses the connection in the end. */
export class UwsWebSocket implements WebSocketPeer {
  readonly #events: WebSocketEvents
  readonly #onEnd: () => void
  readonly #onProblem: (error: unknown) => void
  #socket: WebSocket<SocketState> | undefined
  #unackedBytes = 0
  #isAwaitingDrain = false

  /** @param onEnd called once, when it has closed */
  constructor(events: WebSocketEvents, onEnd: () => void, onProblem: (error: unknown) => void) {
    this.#events = events
    this.#onEnd = onEnd
    this.#onProblem = onProblem
  }

  /** The library has switched over. */
  opened(socket: WebSocket<SocketState>): void {
    this.#socket = socket
  }

  send(data: Uint8Array, isBinary: boolean): boolean {
    const socket = this.#socket
    if (socket === undefined) return true
    socket.send(data, isBinary)
    // It closes itself when far too much is waiting.
    if (this.#socket === undefined || socket.getBufferedAmount() < SEND_HIGH_WATER_BYTES) return true
    this.#isAwaitingDrain = true
    return false
  }

  close(code: number, reason: string): void {
    const frame = closeFrame(code, reason)
    if (frame.code === undefined) this.#socket?.end()
    else this.#socket?.end(frame.code, frame.reason)
  }

  terminate(): void {
    this.#socket?.close()
  }

  received(message: ArrayBuffer, isBinary: boolean): void {
    // The memory belongs to the library again after this call.
    const data = new Uint8Array(message.slice(0))
    const bytes = data.byteLength + MESSAGE_OVERHEAD_BYTES
    this.#unackedBytes += bytes
    let isAcked = false
    this.#call(() =>
      this.#events.message(data, isBinary, () => {
        if (isAcked) return
        isAcked = true
        this.#unackedBytes -= bytes
      }),
    )
    if (this.#unackedBytes > MAX_UNACKED_BYTES) this.close(1013, 'too much data is waiting to be sent')
  }

  pinged(): void {
    this.#call(() => this.#events.pinged?.())
  }

  drained(): void {
    if (!this.#isAwaitingDrain || (this.#socket?.getBufferedAmount() ?? 0) > SEND_HIGH_WATER_BYTES / 2) return
    this.#isAwaitingDrain = false
    this.#call(() => this.#events.drained())
  }

  closed(code: number, reason: ArrayBuffer): void {
    this.#socket = undefined
    const text = Buffer.from(reason).toString()
    this.#call(() => this.#events.closed(code, code === 1006 ? '' : text))
    this.#onEnd()
  }

  #call(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#onProblem(error)
    }
  }
}
