import { CoreError } from '../errors/errors.ts'
import { ConsumedBytes, FlowWindow } from './flow-window.ts'
import type { RpcFrame } from './wire.ts'

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
  /**
   * Receives the handler's chunks, in order, before the reply. The bytes are valid only until this returns. False: more than is on
   * its way already comes only after `resume`, which is not to be called from inside.
   */
  readonly onChunk?: (body: unknown, bytes: Uint8Array | undefined) => boolean
}

/** A reply and the bytes beside it. */
export interface Received<Reply> {
  readonly body: Reply
  readonly bytes: Uint8Array | undefined
}

/** A call in flight. */
export interface RpcCall<Reply> {
  /** Settles with the reply, the handler's error, CORE_TIMEOUT, CORE_ABORTED, CORE_PEER_GONE or CORE_PEER_LEAVING. */
  readonly reply: Promise<Received<Reply>>
  /** Sends a chunk after the request. False: wait for `drained`. */
  write(bytes: Uint8Array): boolean
  drained(): Promise<void>
  /** Says that no more chunks follow. */
  end(): void
  /** Lets the handler's chunks come again after `onChunk` returned false. */
  resume(): void
  /** Aborts the call: the handler is told, `reply` rejects with CORE_ABORTED. */
  abort(): void
}

/** The parts of a peer that a call uses. */
export interface CallPort {
  send(frame: RpcFrame, bytes?: Uint8Array): void
  /** The call has ended without a reply. */
  forget(id: number): void
}

/** The caller's side of one call. */
export class OutgoingCall implements RpcCall<unknown> {
  readonly method: string
  readonly onReply: CallOptions['onReply']
  readonly #port: CallPort
  readonly #id: number
  readonly #onChunk: CallOptions['onChunk']
  readonly #settled = Promise.withResolvers<Received<unknown>>()
  readonly #window = new FlowWindow()
  readonly #consumed = new ConsumedBytes()
  readonly #timer: NodeJS.Timeout | undefined
  /** Bytes of chunks that are not acknowledged before `resume`; undefined: the receiver takes more. */
  #heldBytes: number | undefined
  #isDone = false

  constructor(port: CallPort, id: number, method: string, options: CallOptions) {
    this.#port = port
    this.#id = id
    this.method = method
    this.#onChunk = options.onChunk
    this.onReply = options.onReply
    // A caller that aborts may no longer listen; that must not count as an unhandled rejection.
    this.#settled.promise.catch(() => undefined)
    if (options.timeoutMs === Number.POSITIVE_INFINITY) return
    const tooLate = () => {
      if (this.#isDone) return
      this.fail(new CoreError('CORE_TIMEOUT', `no reply to ${method} within ${options.timeoutMs} ms`))
      port.forget(id)
    }
    // A reply that came while this process was held up itself is taken in first: see `withDeadline`.
    this.#timer = setTimeout(() => setImmediate(tooLate), options.timeoutMs)
  }

  get reply(): Promise<Received<unknown>> {
    return this.#settled.promise
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isDone) return false
    // Read before sending: a transferred buffer has no length afterwards.
    const byteCount = bytes.byteLength
    this.#port.send({ t: 'chunk', i: this.#id, d: 'caller' }, bytes)
    return this.#window.sent(byteCount)
  }

  drained(): Promise<void> {
    return this.#window.drained()
  }

  end(): void {
    if (!this.#isDone) this.#port.send({ t: 'fin', i: this.#id })
  }

  abort(): void {
    if (this.#isDone) return
    this.fail(new CoreError('CORE_ABORTED', `the call of ${this.method} was aborted`))
    this.#port.forget(this.#id)
  }

  resume(): void {
    const held = this.#heldBytes
    this.#heldBytes = undefined
    if (held !== undefined) this.#acknowledge(held)
  }

  /** Takes a chunk of the handler in. The bytes are lent. */
  chunkArrived(body: unknown, bytes: Uint8Array | undefined): void {
    const isTaken = this.#onChunk?.(body, bytes) !== false
    const byteCount = bytes?.byteLength ?? 0
    if (this.#heldBytes !== undefined) this.#heldBytes += byteCount
    else if (isTaken) this.#acknowledge(byteCount)
    else this.#heldBytes = byteCount
  }

  /** The handler has consumed bytes of this side's chunks. */
  acknowledged(byteCount: number): void {
    this.#window.acknowledged(byteCount)
  }

  succeed(received: Received<unknown>): void {
    if (this.#finish()) this.#settled.resolve(received)
  }

  fail(error: Error): void {
    if (this.#finish()) this.#settled.reject(error)
  }

  #acknowledge(byteCount: number): void {
    const due = this.#consumed.add(byteCount)
    if (due > 0 && !this.#isDone) this.#port.send({ t: 'ack', i: this.#id, d: 'handler', n: due })
  }

  #finish(): boolean {
    if (this.#isDone) return false
    this.#isDone = true
    clearTimeout(this.#timer)
    this.#window.fail()
    return true
  }
}
