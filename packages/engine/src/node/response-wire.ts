import type { Writable } from 'node:stream'
import type { HeaderList } from '@svc/http'
import type { NodeHead } from './node-head.ts'

/** How a response is framed. */
export interface Framing {
  /** Content-Length; undefined: unknown, or none is sent. */
  readonly length: number | undefined
  /** True if the connection ends with this response, where the protocol has that. */
  readonly closes: boolean
}

/** The response side of one request, whatever the version of the protocol. Owned by its exchange. */
export interface ResponseWire {
  /** Takes the body. Emits `finish` when the response has been handed over, and `close`, later or instead. */
  readonly out: Writable
  /** True if a response may be complete while its request still comes, without harm to what follows. */
  readonly isMultiplexed: boolean
  /** True if the client asked for the connection to be closed, or cannot keep it. */
  readonly wantsClose: boolean
  /** True if only the end of the connection ends a body of unknown length. */
  readonly needsLength: boolean
  /** True if the peer, or this side, has aborted. */
  readonly isGone: boolean
  /** Sends the head of a response whose body goes to `out`. */
  head(head: NodeHead, framing: Framing): void
  /** Sends the head now, if it waits for the first byte of the body. */
  showHead(): void
  /** Sends the head of a response without body, which is complete but for `end`. */
  bodiless(head: NodeHead, framing: Framing): void
  /** Ends the response. `trailers` are dropped where the client does not take any. */
  end(chunk: Uint8Array | undefined, trailers: HeaderList): void
  /** Sends an interim response, where the client takes any. */
  informational(head: NodeHead): void
  /** Ends the connection, or the stream, so that the client sees that the response is incomplete. */
  cut(): void
  /** The response is complete, but the rest of the request is not wanted. Only where `isMultiplexed`. */
  stopRequest(): void
  /** Called once: no caller waits any more for the response to be sent. */
  over(): void
}
