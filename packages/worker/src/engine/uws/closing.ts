import type { RequestGate } from '../request-gate.ts'

/**
 * What becomes of the connection behind a response: it stays, the library is to close it, or the library has understood by
 * itself that it is to be closed. In the last case it does not tell the client, as RFC 9112 section 9.6 wants it, so the engine does.
 */
export type Closing = 'stays' | 'closes' | 'closesItself'

/** The library takes any value of five characters for `close`. */
const CLOSE_LENGTH = 5

/** Whether the library closes the connection of this request behind its response, whatever it is told. */
export function isClosedByLibrary({ connection }: Pick<RequestGate, 'connection'>): boolean {
  return connection?.length === CLOSE_LENGTH
}
