import type { EngineLimits, Refusal } from './engine.ts'
import type { WatchedExchange } from './exchange-watch.ts'

/** What all exchanges of one engine share. */
export interface EngineContext {
  /** Whether responses ask the client to close its connection. */
  readonly isDraining: boolean
  limits(): EngineLimits
  problem(error: unknown): void
  refused(refusal: Refusal): void
  /** A request has come in. */
  began(): void
  /** The exchange is not answered by its handler and has to be watched. */
  watch(exchange: WatchedExchange): void
  /** The exchange has let go of its connection. */
  released(exchange: WatchedExchange): void
}
