import type { HttpResponse } from 'uWebSockets.js'

/** The parts of an exchange that its body writer uses. Owned by the writers; all calls are synchronous. */
export interface ResponsePort {
  /** Not to be touched once `isOver`. */
  readonly res: HttpResponse
  /** True if uWebSockets.js has released the response: complete, cut, or the client has disconnected. */
  readonly isOver: boolean
  /** To be called before the call that may complete the response. */
  beforeEnd(): void
  /** The library says that the response is complete. */
  completed(): void
  /**
   * Every byte was handed over while the library still waits for more, so that the connection can be closed.
   * @param isKept true if the library may still hold the last bytes, so that closing has to wait
   */
  flushed(isKept?: boolean): void
  /** Cuts the connection because the body cannot be completed. */
  cut(reason?: Error): void
}

/** Events of the exchange for its writer. */
export interface WriterSide {
  /** The socket takes more. */
  writable(): void
  /** The response ended without the writer. */
  gone(): void
  /** Since when (monotonic ms) the peer takes nothing, or undefined. */
  readonly blockedSince: number | undefined
}
