import type { Channel } from '../channel/channel.ts'
import { ConsumedBytes, FlowWindow } from './flow-window.ts'
import type { CallContext } from './methods.ts'
import type { RpcFrame } from './wire.ts'

/** The handler's side of one call. */
export class IncomingCall implements CallContext {
  readonly bytes: Uint8Array | undefined
  readonly hasChunks: boolean
  readonly #id: number
  readonly #channel: Channel
  readonly #window = new FlowWindow()
  readonly #consumed = new ConsumedBytes()
  #waiting: Uint8Array[] = []
  #hasEnded = false
  #isAborted = false
  #onChunk: ((bytes: Uint8Array, ack: () => void) => void) | undefined
  #onEnd: (() => void) | undefined
  #onAbort: (() => void) | undefined

  constructor(channel: Channel, frame: Extract<RpcFrame, { t: 'req' }>, bytes: Uint8Array | undefined) {
    this.#channel = channel
    this.#id = frame.i
    this.hasChunks = frame.s === true
    this.bytes = bytes
  }

  get isAborted(): boolean {
    return this.#isAborted
  }

  onChunk(listener: (bytes: Uint8Array, ack: () => void) => void): void {
    this.#onChunk = listener
    const waiting = this.#waiting
    this.#waiting = []
    for (const bytes of waiting) this.chunkArrived(bytes)
  }

  onEnd(listener: () => void): void {
    this.#onEnd = listener
    if (this.#hasEnded) listener()
  }

  onAbort(listener: () => void): void {
    this.#onAbort = listener
    if (this.#isAborted) listener()
  }

  send(body: unknown, bytes?: Uint8Array | string): boolean {
    if (this.#isAborted) return false
    // Read before sending: a transferred buffer has no length afterwards.
    const byteCount = bytes === undefined ? 0 : Buffer.byteLength(bytes)
    const head: RpcFrame = { t: 'chunk', i: this.#id, d: 'handler', b: body }
    this.#channel.send(head, bytes)
    return this.#window.sent(byteCount)
  }

  drained(): Promise<void> {
    return this.#window.drained()
  }

  chunkArrived(bytes: Uint8Array): void {
    if (this.#onChunk === undefined) {
      this.#waiting.push(bytes)
      return
    }
    const byteCount = bytes.byteLength
    this.#onChunk(bytes, () => this.#dealtWith(byteCount))
  }

  #dealtWith(byteCount: number): void {
    const due = this.#consumed.add(byteCount)
    if (due === 0) return
    const head: RpcFrame = { t: 'ack', i: this.#id, d: 'caller', n: due }
    this.#channel.send(head)
  }

  ended(): void {
    this.#hasEnded = true
    this.#onEnd?.()
  }

  acknowledged(byteCount: number): void {
    this.#window.acknowledged(byteCount)
  }

  aborted(): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#window.fail()
    this.#onAbort?.()
  }
}
