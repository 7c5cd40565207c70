import type { WebSocketEvents, WebSocketPeer } from '@svc/http'
import {
  closeFrame,
  MAX_BUFFERED_BYTES,
  MESSAGE_OVERHEAD_BYTES,
  RECEIVE_HIGH_WATER_BYTES,
  SEND_HIGH_WATER_BYTES,
} from '@svc/http'
import type { WebSocket } from 'ws'

/** Events of a WebSocket for its keeper. */
interface WebSocketOwner {
  ended(socket: NodeWebSocket): void
  problem(error: unknown): void
}

/** One open WebSocket on the engine node. */
export class NodeWebSocket implements WebSocketPeer {
  readonly #socket: WebSocket
  readonly #events: WebSocketEvents
  readonly #owner: WebSocketOwner
  #unackedBytes = 0
  #isAwaitingDrain = false
  #isOver = false
  /** True if something has come since the keeper looked last. */
  isAlive = true

  constructor(socket: WebSocket, events: WebSocketEvents, owner: WebSocketOwner) {
    this.#socket = socket
    this.#events = events
    this.#owner = owner
    socket.on('message', (data, isBinary) => this.#received(data as Buffer, isBinary))
    socket.on('ping', () => {
      this.#seen()
      this.#call(() => this.#events.pinged?.())
    })
    socket.on('pong', () => this.#seen())
    // Its close code shows the fault.
    socket.on('error', () => undefined)
    socket.once('close', (code, reason) => this.#closed(code, reason.toString()))
  }

  send(data: Uint8Array, isBinary: boolean): boolean {
    const socket = this.#socket
    if (this.#isOver || socket.readyState !== socket.OPEN) return true
    socket.send(data, { binary: isBinary }, () => this.#handedOver())
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      socket.terminate()
      return true
    }
    if (socket.bufferedAmount < SEND_HIGH_WATER_BYTES) return true
    this.#isAwaitingDrain = true
    return false
  }

  close(code: number, reason: string): void {
    if (this.#isOver) return
    const frame = closeFrame(code, reason)
    // A peer that is not read would not be seen to agree.
    this.#socket.resume()
    if (frame.code === undefined) this.#socket.close()
    else this.#socket.close(frame.code, frame.reason)
  }

  terminate(): void {
    if (!this.#isOver) this.#socket.terminate()
  }

  ping(): void {
    if (!this.#isOver && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  #seen(): void {
    this.isAlive = true
  }

  #received(data: Buffer, isBinary: boolean): void {
    this.#seen()
    const bytes = data.byteLength + MESSAGE_OVERHEAD_BYTES
    this.#unackedBytes += bytes
    let isAcked = false
    this.#call(() =>
      this.#events.message(data, isBinary, () => {
        if (isAcked) return
        isAcked = true
        this.#unackedBytes -= bytes
        if (this.#socket.isPaused && this.#unackedBytes <= RECEIVE_HIGH_WATER_BYTES / 2) this.#socket.resume()
      }),
    )
    if (this.#unackedBytes > RECEIVE_HIGH_WATER_BYTES && !this.#isOver) this.#socket.pause()
  }

  #handedOver(): void {
    if (!this.#isAwaitingDrain || this.#isOver || this.#socket.bufferedAmount > SEND_HIGH_WATER_BYTES / 2) return
    this.#isAwaitingDrain = false
    this.#call(() => this.#events.drained())
  }

  #closed(code: number, reason: string): void {
    this.#isOver = true
    this.#call(() => this.#events.closed(code, reason))
    this.#owner.ended(this)
  }

  #call(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#owner.problem(error)
    }
  }
}
