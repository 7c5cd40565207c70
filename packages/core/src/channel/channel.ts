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
  /** Sets the one listener for the end of the channel, whoever ended it. Fires once, also if it has ended already. */
  onClosed(listener: (reason: Error | undefined) => void): void
  /** Ends the channel after what is queued was sent. Idempotent. */
  close(): void
}
