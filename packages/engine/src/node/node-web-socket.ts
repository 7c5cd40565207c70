import { MAX_BUFFERED_BYTES, RECEIVE_HIGH_WATER_BYTES, type WebSocketEvents } from '@svc/http'
import type { WebSocket } from 'ws'
import { EngineWebSocket } from '../exchange/web-socket.ts'

/** The hub of a WebSocket, as the WebSocket sees it. */
interface WebSocketOwner {
  ended(socket: NodeWebSocket): void
  problem(error: unknown): void
}

/** One open WebSocket on the engine node. */
export class NodeWebSocket extends EngineWebSocket {
  readonly #socket: WebSocket
  readonly #owner: WebSocketOwner
  #isOver = false
  /** True if something has come since the last sweep of the hub. */
  isAlive = true

  constructor(socket: WebSocket, events: WebSocketEvents, owner: WebSocketOwner) {
    super(events, (error) => owner.problem(error))
    this.#socket = socket
    this.#owner = owner
    socket.on('message', (data, isBinary) => this.#received(data as Buffer, isBinary))
    socket.on('ping', () => {
      this.isAlive = true
      this.call(() => this.events.pinged?.())
    })
    socket.on('pong', () => {
      this.isAlive = true
    })
    // Its close code shows the fault.
    socket.on('error', () => undefined)
    socket.once('close', (code, reason) => this.#closed(code, reason.toString()))
  }

  send(data: Uint8Array, isBinary: boolean): boolean {
    const socket = this.#socket
    if (this.#isOver || socket.readyState !== socket.OPEN) return true
    socket.send(data, { binary: isBinary }, () => {
      if (!this.#isOver) this.handedOver(socket.bufferedAmount)
    })
    if (socket.bufferedAmount <= MAX_BUFFERED_BYTES) return this.queued(socket.bufferedAmount)
    socket.terminate()
    return true
  }

  terminate(): void {
    if (!this.#isOver) this.#socket.terminate()
  }

  ping(): void {
    if (!this.#isOver && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  protected end(code: number | undefined, reason: string): void {
    if (this.#isOver) return
    // A peer that is not read would not be seen to agree.
    this.#socket.resume()
    if (code === undefined) this.#socket.close()
    else this.#socket.close(code, reason)
  }

  protected acked(): void {
    if (this.#socket.isPaused && this.unackedBytes <= RECEIVE_HIGH_WATER_BYTES / 2) this.#socket.resume()
  }

  #received(data: Buffer, isBinary: boolean): void {
    this.isAlive = true
    this.message(data, isBinary)
    if (this.unackedBytes > RECEIVE_HIGH_WATER_BYTES && !this.#isOver) this.#socket.pause()
  }

  #closed(code: number, reason: string): void {
    this.#isOver = true
    this.call(() => this.events.closed(code, reason))
    this.#owner.ended(this)
  }
}
