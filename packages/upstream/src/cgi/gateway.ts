import type { UpstreamConnection } from '../http/connection.ts'
import type { UpstreamProtocol } from '../http/http-connections.ts'

/** A name of a parameter with its value, one character for each byte. */
export type Param = readonly [name: string, value: string]

/** The facts about a request that its beginning states beside its parameters. */
interface PacketFacts {
  /** True if the application is to leave the connection open behind its response. */
  readonly keepsConnection: boolean
  /** Bytes of the body; undefined: there is none, or its length is unknown. */
  readonly length: number | undefined
  readonly hasBody: boolean
}

/** The language that is spoken with CGI applications on a connection. Texts have one character for each byte. */
export interface Gateway {
  readonly protocol: UpstreamProtocol
  /** True if the beginning of a request states the length of its body, so that no parameter has to. */
  readonly statesLength: boolean
  /** Writes parameters; those of one request may be written in several parts. */
  encode(params: readonly Param[]): string
  /** The request up to its body. Undefined: the parameters are longer than the protocol allows. */
  begin(params: string, facts: PacketFacts): string | undefined
  /** Writes a part of the body, which is not empty. False: the socket takes no more. */
  writeBody(connection: UpstreamConnection, bytes: Uint8Array): boolean
  /** Follows the body. */
  readonly endOfBody: string
  /** Tells the application that its client is gone. */
  readonly abort: string
}
