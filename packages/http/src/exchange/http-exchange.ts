import type { ConnectionFacts } from './connection-facts.ts'

/**
 * A complete response body of at most so many bytes is lent to the engine for the call: the engine copies the part that the client has
 * not taken by then. A longer one must not change before the exchange has closed.
 */
export const MAX_LENT_BYTES = 32 * 1024

/** Header fields in the order received: lower-case names, values as sent (latin-1 decoded). */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** The request as every stage sees it. Plain values, valid for the life of the exchange. */
export interface HttpRequest {
  /** Upper-case token as sent; methods are case-sensitive (RFC 9110 section 9.1). */
  readonly method: string
  /** Origin-form target as sent: path and query, percent-encoding untouched. */
  readonly target: string
  /** Path part of `target`, still encoded and not normalised. */
  readonly rawPath: string
  /** Query part of `target` without "?", or "" when there is none. */
  readonly query: string
  /** Normalised path: unreserved escapes decoded, other escapes upper-cased, dot segments removed, `//` merged. */
  readonly path: string
  readonly scheme: 'http' | 'https'
  /** Value of the Host field (or `:authority`), lower case, as sent otherwise. "" when a 1.0 request had none. */
  readonly host: string
  readonly httpVersion: '1.0' | '1.1' | '2'
  /**
   * Address of the TCP peer in canonical text form, IPv4-mapped addresses as IPv4. Asking costs a system call, once: who needs it
   * after the end of the exchange asks before.
   */
  readonly remoteAddress: string
  /** The listen address of the configuration that took the connection, e.g. "127.0.0.1:8080". */
  readonly listener: string
  readonly headers: HeaderList
  /** Name that the client named in its TLS handshake (SNI), lower case; undefined on plain connections and where it named none. */
  readonly serverName?: string | undefined
  /** Undefined: the engine does not know them (uws). */
  readonly connection?: ConnectionFacts | undefined
  /** The place of this request among those of its connection, from 1; undefined as well. */
  readonly connectionPlace?: number | undefined
  /** First value of a field by lower-case name, or undefined. */
  header(name: string): string | undefined
}

/** The head of a response. Values are checked for CR, LF and NUL before they are written. */
export interface ResponseHead {
  readonly status: number
  /** Without Content-Length, Transfer-Encoding, Connection and Date: those belong to the engine. */
  readonly headers: HeaderList
}

/**
 * Lets more of a body come. `isUnused`: the receiver does not use the chunk any more, so its memory may be reused;
 * without it the chunk stays the receiver's.
 */
export type BodyAck = (isUnused?: boolean) => void

/** The body of a request, read once. Not reading it is allowed: the engine discards it. */
export interface RequestBody {
  /** True if the request declares a body at all. */
  readonly isPresent: boolean
  /** Declared Content-Length, or undefined when unknown (chunked). */
  readonly length: number | undefined
  /**
   * Starts reading. Chunks belong to the receiver. `ack` lets more come: without it the sender is slowed down.
   * `onEnd(undefined)` after the last chunk, else with the error (HTTP_BODY_TOO_LARGE, HTTP_ABORTED, or one of the engine).
   */
  read(onChunk: (chunk: Uint8Array, ack: BodyAck) => void, onEnd: (error: Error | undefined) => void): void
}

/** The body of a request without one. */
export const noBody: RequestBody = Object.freeze({
  isPresent: false,
  length: undefined,
  read: (_onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void) => onEnd(undefined),
})

/** Writes a streamed response body. */
export interface BodyWriter {
  /**
   * Queues a chunk. False: the peer is slow, wait for `onDrain` before writing more. `onUnused` is called at most once, maybe at once and
   * maybe never: the receiver does not use the chunk any more, so its memory may be reused.
   */
  write(chunk: Uint8Array, onUnused?: () => void): boolean
  /** Sets the one listener that is called when more may be written. */
  onDrain(listener: () => void): void
  /** `trailers`: fields behind the body, sent where the engine and the client can (not engine uws), else dropped. */
  end(chunk?: Uint8Array, trailers?: HeaderList): void
  /** Cuts the response so that the client sees it is incomplete. */
  abort(): void
}

/** How the body of a streamed response is framed. */
export interface StreamOptions {
  /** Exact body length when it is known: Content-Length instead of chunked framing. */
  readonly length?: number
}

/** Events of a WebSocket. */
export interface WebSocketEvents {
  /** A whole message. Belongs to the receiver. `ack` lets more come. */
  message(data: Uint8Array, isBinary: boolean, ack: () => void): void
  /** More may be sent after `send` said false. */
  drained(): void
  /** The other end sent a ping, which has been answered. */
  pinged?(): void
  /** The last call. `code` as in RFC 6455 section 7.4; 1006: the connection broke. */
  closed(code: number, reason: string): void
}

/** One end of an open WebSocket. After it has closed all calls do nothing. */
export interface WebSocketPeer {
  /** Queues a message. False: the peer is slow, wait for `drained`. */
  send(data: Uint8Array, isBinary: boolean): boolean
  /** Begins the closing handshake. 1005 and 1006 stand for "no code" and are not sent. */
  close(code: number, reason: string): void
  /** Cuts the connection. */
  terminate(): void
}

/** The wish of a client to speak WebSocket (RFC 6455), which may be granted in place of a response. */
export interface WebSocketOffer {
  /** Subprotocols that the client offers, in its order. */
  readonly protocols: readonly string[]
  /**
   * Switches over. `headers`: further fields of the 101 response. From then on the exchange counts as answered; it is closed
   * when the WebSocket is.
   */
  accept(options: { readonly protocol?: string; readonly headers?: HeaderList }, events: WebSocketEvents): WebSocketPeer
}

/**
 * One request and its one response, whatever the engine (uws, node, inject). Single-threaded; exactly one of `respond`
 * and `stream` may be called, once. After the client has gone both are accepted and do nothing. HEAD, 204 and 304 are
 * handled by the engine: pass the body as for GET and it is not sent (its length is, for HEAD). Nothing throws but misuse.
 */
export interface HttpExchange {
  readonly request: HttpRequest
  readonly body: RequestBody
  /** Present when the request asks for a WebSocket in the form of RFC 6455. Not using it is allowed: any answer declines. */
  readonly webSocket?: WebSocketOffer | undefined
  /** Sends an interim response (1xx), where the engine and the client can (not HTTP/1.0, not engine uws). */
  informational?(head: ResponseHead): void
  /** Sends a complete response; the engine adds Content-Length. See `MAX_LENT_BYTES` for the memory of the body. */
  respond(head: ResponseHead, body?: Uint8Array): void
  /** Sends the head and returns a writer for the body. */
  stream(head: ResponseHead, options?: StreamOptions): BodyWriter
  /**
   * Limits in milliseconds in place of those of the engine: how long the sender of the body, and the receiver of the response, may
   * stall.
   */
  limitStalls?(limits: { readonly bodyMs: number | undefined; readonly sendMs: number | undefined }): void
  /** Closes the connection without a response, or with a part of it, where it is one of a client. */
  cut?(): void
  /** Called once when the exchange ends: response written, or client gone (then `true`). At most one listener. */
  onClosed(listener: (isAborted: boolean) => void): void
  /**
   * No time limit of the engine ends the wait for the response from now on: its handler has limits of its own. How long the
   * request may take to arrive stays limited. A client that ends its side of the connection before the response has begun counts as
   * gone.
   */
  liftAnswerLimit(): void
  /**
   * The request body may take any time from now on, as long as its sender does not stall: its handler limits the whole. Before that,
   * and without it, the request has to arrive within the time that the response may take.
   */
  liftBodyLimit(): void
}
