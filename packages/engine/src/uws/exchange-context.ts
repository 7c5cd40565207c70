import type { HeaderBlocks } from '../exchange/header-block.ts'
import type { EngineContext } from '../listener/engine-context.ts'
import type { BodyStore } from './body-backlog.ts'
import type { CloseGuard } from './close-guard.ts'
import type { PeerAddresses } from './peer-address.ts'

/** What all exchanges of one engine share. */
export interface ExchangeContext extends EngineContext {
  readonly blocks: HeaderBlocks
  readonly peers: PeerAddresses
  readonly bodies: BodyStore
  readonly closeGuard: CloseGuard
  /** Asked for each answer without a body that could leave at once: now and then one has to wait a turn. */
  mustWait(): boolean
}
