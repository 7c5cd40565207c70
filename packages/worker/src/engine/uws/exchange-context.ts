import type { EngineLimits, Refusal } from '../engine.ts'
import type { WatchedExchange } from '../exchange-watch.ts'
import type { HeaderBlocks } from '../header-block.ts'
import type { PeerAddresses } from './peer-address.ts'

/** What all exchanges of one engine share. */
export interface ExchangeContext {
  readonly blocks: HeaderBlocks
  readonly peers: PeerAddresses
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
