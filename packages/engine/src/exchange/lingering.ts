import { performance } from 'node:perf_hooks'
import type { WriterPort } from './stream-writer.ts'

/** How long, and how much of, a request is still taken after the response to it, so that the response is not lost in a reset. */
export const LINGER_MS = 3_000
const LINGER_BYTES = 64 * 1024 * 1024

/** The last act of an exchange, which waits until the request is read to its end, or long enough. */
export class Lingering {
  readonly #exchange: Pick<WriterPort, 'isOver'>
  #act: (() => void) | undefined
  readonly #until: number
  readonly #isLong: boolean

  /**
   * Acts in a tick of its own: a request that the parser finds behind this one meets a pending response until then.
   * @param isReading true if the request is still being read
   * @param isLong true to wait for the longest time in any case
   */
  constructor(exchange: Pick<WriterPort, 'isOver'>, act: () => void, isReading: boolean, isLong: boolean) {
    this.#exchange = exchange
    this.#act = act
    this.#isLong = isLong
    this.#until = performance.now() + LINGER_MS
    if (!isReading && !isLong) setImmediate(() => this.#end())
  }

  /** True until it has acted. */
  get isPending(): boolean {
    return this.#act !== undefined
  }

  /** The request is read to its end. */
  requestRead(): void {
    if (!this.#isLong) setImmediate(() => this.#end())
  }

  /** @param now ms of the monotonic clock */
  check(now: number, receivedBytes: number): void {
    if (now > this.#until || receivedBytes > LINGER_BYTES) this.#end()
  }

  #end(): void {
    const act = this.#act
    this.#act = undefined
    if (!this.#exchange.isOver) act?.()
  }
}
