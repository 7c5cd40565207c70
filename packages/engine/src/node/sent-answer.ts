import type { EngineLimits } from '../listener/engine.ts'
import type { WatchedExchange } from '../listener/exchange-watch.ts'
import type { NodeContext } from './node-context.ts'
import type { ResponseWire } from './response-wire.ts'

/**
 * A ready answer that a stream was given, until its client has taken it: who opens no window is cut after the idle time. In HTTP/1 the
 * connection has such a limit of its own.
 */
export class SentAnswer implements WatchedExchange {
  watchPlace: number | undefined
  readonly #context: NodeContext
  readonly #wire: ResponseWire
  readonly #since = performance.now()
  #isOver = false

  constructor(context: NodeContext, wire: ResponseWire) {
    this.#context = context
    this.#wire = wire
    context.began()
    context.watch(this)
    wire.out.once('close', () => this.#end())
  }

  check(now: number, { idleTimeoutMs }: EngineLimits): void {
    if (now - this.#since > idleTimeoutMs) this.cut()
  }

  cut(): void {
    this.#wire.cut()
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#wire.over()
    this.#context.released(this)
  }
}
