import type { WebSocketEvents, WebSocketPeer } from '@svc/http'
import { closeFrame, MAX_MESSAGE_BYTES, MESSAGE_OVERHEAD_BYTES, RECEIVE_HIGH_WATER_BYTES, SEND_HIGH_WATER_BYTES } from '@svc/http'

interface Message {
  readonly data: Uint8Array
  readonly isBinary: boolean
  readonly bytes: number
}

/** One end of a WebSocket without a network. What is sent arrives in a later turn, in order, as the other end acknowledges. */
class MemoryEnd implements WebSocketPeer {
  readonly #events: WebSocketEvents
  #other: MemoryEnd | undefined
  readonly #inbox: Message[] = []
  #inboxBytes = 0
  #unackedBytes = 0
  #isAwaitingDrain = false
  #isDelivering = false
  #closing: { readonly code: number; readonly reason: string } | undefined
  #isOver = false

  constructor(events: WebSocketEvents) {
    this.#events = events
  }

  join(other: MemoryEnd): void {
    this.#other = other
  }

  send(data: Uint8Array, isBinary: boolean): boolean {
    const other = this.#other
    if (this.#isOver || other === undefined) return true
    if (data.byteLength > MAX_MESSAGE_BYTES) {
      this.close(1009, '')
      return true
    }
    if (other.take({ data: data.slice(), isBinary, bytes: data.byteLength + MESSAGE_OVERHEAD_BYTES })) return true
    this.#isAwaitingDrain = true
    return false
  }

  close(code: number, reason: string): void {
    const frame = closeFrame(code, reason)
    this.#other?.closedBy({ code: frame.code ?? 1005, reason: frame.reason })
  }

  terminate(): void {
    this.end(1006, '')
    this.#other?.end(1006, '')
  }

  take(message: Message): boolean {
    if (this.#closing !== undefined || this.#isOver) return true
    this.#inbox.push(message)
    this.#inboxBytes += message.bytes
    this.#deliverLater()
    return this.#inboxBytes < SEND_HIGH_WATER_BYTES
  }

  closedBy(closing: { readonly code: number; readonly reason: string }): void {
    if (this.#isOver) return
    this.#closing ??= closing
    this.#deliverLater()
  }

  #deliverLater(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    setImmediate(() => {
      this.#isDelivering = false
      this.#deliver()
    })
  }

  #deliver(): void {
    while (!this.#isOver && this.#unackedBytes <= RECEIVE_HIGH_WATER_BYTES) {
      const message = this.#inbox.shift()
      if (message === undefined) break
      this.#inboxBytes -= message.bytes
      this.#hand(message)
    }
    this.#other?.emptied(this.#inboxBytes)
    if (this.#closing === undefined || this.#inbox.length > 0) return
    const { code, reason } = this.#closing
    this.end(code, reason)
    this.#other?.end(code, reason)
  }

  #hand({ data, isBinary, bytes }: Message): void {
    this.#unackedBytes += bytes
    let isAcked = false
    this.#events.message(data, isBinary, () => {
      if (isAcked) return
      isAcked = true
      this.#unackedBytes -= bytes
      this.#deliverLater()
    })
  }

  emptied(inboxBytes: number): void {
    if (!this.#isAwaitingDrain || this.#isOver || inboxBytes > SEND_HIGH_WATER_BYTES / 2) return
    this.#isAwaitingDrain = false
    this.#events.drained()
  }

  end(code: number, reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.closed(code, reason)
  }
}

/** Makes both ends of a WebSocket, each with what happens at it. */
export function webSocketPair(near: WebSocketEvents, far: WebSocketEvents): { near: WebSocketPeer; far: WebSocketPeer } {
  const ends = { near: new MemoryEnd(near), far: new MemoryEnd(far) }
  ends.near.join(ends.far)
  ends.far.join(ends.near)
  return ends
}
