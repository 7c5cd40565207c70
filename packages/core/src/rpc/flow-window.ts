import { CoreError } from '../errors/errors.ts'

/** Bytes of unacknowledged chunks in flight in one direction of one call. */
export const WINDOW_BYTES = 256 * 1024

/** So much must have been consumed before it is acknowledged: an acknowledgement is a message of its own. */
const ACK_BYTES = WINDOW_BYTES / 4

/** Counts what was consumed of the chunks of one direction of a call, until an acknowledgement is due. */
export class ConsumedBytes {
  #byteCount = 0

  /** Notes `byteCount` as consumed. Returns how much to acknowledge now; 0: nothing yet. */
  add(byteCount: number): number {
    this.#byteCount += byteCount
    if (this.#byteCount < ACK_BYTES) return 0
    const due = this.#byteCount
    this.#byteCount = 0
    return due
  }
}

/** Counts what was sent against what the other side has consumed, and lets a sender wait for room. */
export class FlowWindow {
  #outstanding = 0
  #waiting: PromiseWithResolvers<void> | undefined
  #hasEnded = false

  /** Notes `byteCount` as sent. False: the window is full. */
  sent(byteCount: number): boolean {
    this.#outstanding += byteCount
    return this.#outstanding < WINDOW_BYTES
  }

  acknowledged(byteCount: number): void {
    this.#outstanding = Math.max(0, this.#outstanding - byteCount)
    if (this.#outstanding >= WINDOW_BYTES) return
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  /** Resolves when there is room; rejects when the call has ended. */
  drained(): Promise<void> {
    if (this.#hasEnded) return Promise.reject(callEnded())
    if (this.#outstanding < WINDOW_BYTES) return Promise.resolve()
    this.#waiting ??= Promise.withResolvers<void>()
    return this.#waiting.promise
  }

  /** Ends the window and rejects the waiters. Runs once for every call, so it creates an error only if there is a waiter. */
  fail(): void {
    this.#hasEnded = true
    this.#waiting?.reject(callEnded())
    this.#waiting = undefined
  }
}

function callEnded(): CoreError {
  return new CoreError('CORE_ABORTED', 'the call has ended')
}
