import { performance } from 'node:perf_hooks'
import { LINGER_BYTES, LINGER_MS } from '../exchange/linger.ts'

/** The exchange that lingers. */
interface LingeringExchange {
  readonly isOver: boolean
}

/** The last act of an exchange, which waits until the request is read to its end, or long enough. */
export class Lingering {
  readonly #exchange: LingeringExchange
  #act: (() => void) | undefined
  readonly #until: number
  readonly #isLong: boolean

  /**
   * Acts in a tick of its own: a request that the parser finds behind this one meets a pending response until then.
   * @param isReading whether the request is still being read
   * @param isLong whether to wait for the longest time in any case
   */
  constructor(exchange: LingeringExchange, act: () => void, isReading: boolean, isLong: boolean) {
    this.#exchange = exchange
    this.#act = act
    this.#isLong = isLong
    this.#until = performance.now() + LINGER_MS
    if (!isReading && !isLong) setImmediate(() => this.#end())
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
