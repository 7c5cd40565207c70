import type { Channel, Frame } from './channel.ts'
import { ClosedSignal } from './closed-signal.ts'

class MemoryEnd implements Channel {
  readonly #closed = new ClosedSignal()
  #peer: MemoryEnd | undefined
  #listener: ((frame: Frame) => void) | undefined
  #waiting: Frame[] = []

  connect(peer: MemoryEnd): void {
    this.#peer = peer
  }

  send(head: unknown, bytes?: Uint8Array | string): void {
    if (this.#closed.isClosed) return
    const frame: Frame = { head: structuredClone(head), bytes: bytes === undefined ? undefined : Buffer.from(bytes) }
    queueMicrotask(() => this.#peer?.deliver(frame))
  }

  deliver(frame: Frame): void {
    if (this.#closed.isClosed) return
    if (this.#listener === undefined) this.#waiting.push(frame)
    else this.#listener(frame)
  }

  onFrame(listener: (frame: Frame) => void): void {
    this.#listener = listener
    const waiting = this.#waiting
    this.#waiting = []
    for (const frame of waiting) listener(frame)
  }

  onClosed(listener: (reason: Error | undefined) => void): void {
    this.#closed.listen(listener)
  }

  close(): void {
    if (this.#closed.isClosed) return
    queueMicrotask(() => this.#peer?.ended())
    this.#closed.fire()
  }

  ended(): void {
    this.#closed.fire()
  }
}

/** Makes two connected channels within one thread; frames are copied, so that tests see what a real crossing does. */
export function createMemoryChannels(): [Channel, Channel] {
  const left = new MemoryEnd()
  const right = new MemoryEnd()
  left.connect(right)
  right.connect(left)
  return [left, right]
}
