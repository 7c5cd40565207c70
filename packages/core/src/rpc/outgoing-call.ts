import { CoreError } from '../errors/errors.ts'
import { type Deferred, deferred } from '../timing/deadline.ts'
import { ConsumedBytes, FlowWindow } from './flow-window.ts'

/** Options of a call. */
export interface CallOptions {
  /** How long to wait for the reply; infinite: as long as the peer lives. The handler is told to abort when it passes. */
  readonly timeoutMs: number
  /** Bytes that go with the request. */
  readonly bytes?: Uint8Array
  /** Set when chunks will follow by `write` and `end`. */
  readonly hasChunks?: boolean
  /**
   * Receives the reply in the very turn in which it arrives. Its bytes are valid only until this returns; `reply` then
   * resolves without bytes.
   */
  readonly onReply?: (body: unknown, bytes: Uint8Array | undefined) => void
  /** Receives the handler's chunks, in order, before the reply. `ack` lets more come. */
  readonly onChunk?: (body: unknown, bytes: Uint8Array | undefined, ack: () => void) => void
}

/** A reply and the bytes beside it. */
export interface Received<Reply> {
  readonly body: Reply
  readonly bytes: Uint8Array | undefined
}

/** A call under way. */
export interface RpcCall<Reply> {
  /** Settles with the reply, the handler's error, CORE_TIMEOUT, CORE_ABORTED or CORE_PEER_GONE. */
  readonly reply: Promise<Received<Reply>>
  /** Sends a chunk after the request. False: wait for `drained`. */
  write(bytes: Uint8Array): boolean
  drained(): Promise<void>
  /** Says that no more chunks follow. */
  end(): void
  /** Gives up: the handler is told, `reply` rejects with CORE_ABORTED. */
  abort(): void
}

/** The caller's bookkeeping of one call. Used by the peer alone. */
export class OutgoingCall {
  readonly method: string
  readonly settled: Deferred<Received<unknown>> = deferred()
  readonly window = new FlowWindow()
  readonly consumed = new ConsumedBytes()
  readonly onChunk: CallOptions['onChunk']
  readonly onReply: CallOptions['onReply']
  readonly #timer: NodeJS.Timeout | undefined
  #isDone = false

  constructor(method: string, options: CallOptions, onTimeout: () => void) {
    this.method = method
    this.onChunk = options.onChunk
    this.onReply = options.onReply
    // A caller that aborts may no longer listen; that must not count as an unhandled rejection.
    this.settled.promise.catch(() => undefined)
    if (options.timeoutMs === Number.POSITIVE_INFINITY) return
    const tooLate = () => {
      if (this.#isDone) return
      this.fail(new CoreError('CORE_TIMEOUT', `no reply to ${method} within ${options.timeoutMs} ms`))
      onTimeout()
    }
    // A reply that came while this process was held up itself is taken in first: see `withDeadline`.
    this.#timer = setTimeout(() => setImmediate(tooLate), options.timeoutMs)
  }

  get isDone(): boolean {
    return this.#isDone
  }

  succeed(received: Received<unknown>): void {
    if (!this.#finish()) return
    this.settled.resolve(received)
  }

  fail(error: Error): void {
    if (!this.#finish()) return
    this.settled.reject(error)
  }

  #finish(): boolean {
    if (this.#isDone) return false
    this.#isDone = true
    clearTimeout(this.#timer)
    this.window.fail()
    return true
  }
}
