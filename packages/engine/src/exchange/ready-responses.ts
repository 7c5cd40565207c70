import type { ConnectionFacts, HeaderList, HttpRequest, ParsedTarget } from '@svc/http'

/** A response head that is written again and again, in one piece. */
export interface ReadyHead {
  readonly status: number
  /** From the status code to the end of the last field, without the line break behind it. Memory of its own. */
  readonly bytes: Uint8Array
}

/** Takes the written form of a ready head apart again: its fields, without the status line. */
export function readyFields({ bytes }: ReadyHead): Array<readonly [name: string, value: string]> {
  const [, ...lines] = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').split('\r\n')
  return lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 2)] as const
  })
}

/** A request that has passed the guard, before anything is made for it. Valid during the call that it is passed to. */
export interface ReadyRequest {
  /** GET or HEAD. */
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly target: string
  readonly httpVersion: HttpRequest['httpVersion']
  readonly parsed: ParsedTarget
  /** Value of the Host field in lower case. */
  readonly host: string
  /** Name of the listen address that took the connection. */
  readonly listener: string
  readonly acceptEncoding: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly hasCookie: boolean
  /**
   * True if there are fields that make a request more than a plain read: credentials, a range, other conditions than
   * If-None-Match, Cache-Control, Upgrade, or a proxy's fields about scheme and host.
   */
  readonly isSpecial: boolean
  /** First value of a field by lower-case name. */
  field(name: string): string | undefined
  fieldList(): HeaderList
  /** See `ConnectionFacts`. */
  readonly proxied: ConnectionFacts['proxied']
  /** Canonical address of the peer. */
  remoteAddress(): string
  /** The same for counters and logs, from memory where it can be: access rules must not rely on it. */
  countedAddress(): string
}

/** A response that can be written as it is. Valid until the next call of `find`. */
export interface ReadyResponse {
  readonly head: ReadyHead
  /** undefined: none is sent (HEAD, 204, 304). */
  readonly body: Uint8Array | undefined
  /** Content-Length of a response to HEAD; "" where there is none. */
  readonly length: string
}

/** Called once, when a response has been handed over, or when the client disconnected before. */
export type ReadyEnd = (isAborted: boolean) => void

/** Responses that need no exchange. Owned by the engines; queried on the hottest path. Must not throw. */
export interface ReadyResponses {
  /** The response to a request, if there is one. One of `sent` and `sentLater` must follow before the next call. */
  find(ask: ReadyRequest): ReadyResponse | undefined
  /** The response found last has been handed over whole. */
  sent(): void
  /** The response found last is being taken slowly. */
  sentLater(): ReadyEnd
}
