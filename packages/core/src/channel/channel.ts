/**
 * One unit of transport: a small head of plain data and, where there are any, bytes beside it.
 */
export interface Frame {
  readonly head: unknown
  readonly bytes: Uint8Array | undefined
  /** True if `bytes` is valid only until the listener returns; else it belongs to the receiver. */
  readonly isLent?: boolean
}

/**
 * A two-way pipe of frames to one peer: process IPC, a MessagePort, a unix socket, or memory in tests.
 * Frames arrive whole and in order. Nothing is delivered before `onFrame` is called or after `close`.
 */
export interface Channel {
  /**
   * Queues a frame. Never throws and never blocks: a frame for a peer that is gone is dropped, and `onClosed` fires. A string
   * arrives as its bytes in UTF-8.
   */
  send(head: unknown, bytes?: Uint8Array | string): void
  /** Sets the one receiver of frames. */
  onFrame(listener: (frame: Frame) => void): void
  /** Sets the one listener for the end of the channel, which either side may cause. Fires once, also if it has ended already. */
  onClosed(listener: (reason: Error | undefined) => void): void
  /** Ends the channel after what is queued was sent. Idempotent. */
  close(): void
}

/** The "ended, tell one listener once" part that all channels share. */
export class ClosedSignal {
  #listener: ((reason: Error | undefined) => void) | undefined
  #reason: Error | undefined
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  listen(listener: (reason: Error | undefined) => void): void {
    this.#listener = listener
    if (this.#isClosed) queueMicrotask(() => listener(this.#reason))
  }

  fire(reason?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#reason = reason
    this.#listener?.(reason)
  }
}
