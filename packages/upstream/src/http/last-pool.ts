import type { Peer } from '../balance/peer.ts'
import type { ConnectionPool } from './connection-pool.ts'

/** The connections of the server that was asked last: most of the time it is asked again. */
export class LastPool {
  readonly #find: (peer: Peer) => ConnectionPool | undefined
  #peer: Peer | undefined
  #pool: ConnectionPool | undefined

  constructor(find: (peer: Peer) => ConnectionPool | undefined) {
    this.#find = find
  }

  /** Undefined: its address is none. */
  of(peer: Peer): ConnectionPool | undefined {
    // One that was dropped with its group is nobody's any more.
    if (peer === this.#peer && this.#pool?.isClosed === false) return this.#pool
    this.#peer = peer
    this.#pool = this.#find(peer)
    return this.#pool
  }
}
