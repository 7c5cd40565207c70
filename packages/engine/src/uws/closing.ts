import type { HttpResponse } from 'uWebSockets.js'
import { formatHttpDate } from '@svc/http'
import type { RequestGate } from '../exchange/request-gate.ts'

/** The library takes any value of five characters for `close`. */
const CLOSE_LENGTH = 5

/** True if the library closes the connection of this request behind its response, without telling the client. */
export function isClosedByLibrary({ connection }: Pick<RequestGate, 'connection'>): boolean {
  return connection?.length === CLOSE_LENGTH
}

/**
 * Writes a whole response behind which the library closes the connection. Within a handler or a cork.
 * @param isTold whether the library closes it by itself, see `isClosedByLibrary`
 */
export function endLast(res: HttpResponse, body: Uint8Array, isTold: boolean): void {
  if (isTold) res.writeHeader('Connection', 'close')
  res.end(body, true)
}

/**
 * Writes a whole response without a body, whose connection closes behind it. It goes out where the library expects the status line, so
 * that the response stays pending for the library, which then runs no further request of this connection. Within a handler or a cork.
 * @param head from the status code to the end of the last field
 * @param length value of Content-Length; undefined: the response has none
 */
export function writeLastHead(res: HttpResponse, head: Uint8Array, length: string | undefined): void {
  const lengthLine = length === undefined ? '' : `Content-Length: ${length}\r\n`
  const rest = `\r\n${lengthLine}Connection: close\r\nDate: ${formatHttpDate(Date.now())}\r\n`
  res.writeStatus(Buffer.concat([head, Buffer.from(rest, 'latin1')]))
}

/**
 * Writes the last chunk of a chunked response, whose connection closes behind it, and keeps the response pending as above. The library
 * writes nothing but fields here, so the chunk has an extension that takes in the colon (RFC 9112 section 7.1.1: recipients ignore it).
 * Within a cork, after the first chunk.
 */
export function writeLastChunk(res: HttpResponse): void {
  res.writeHeader('\r\n0;end="', '"\r\n')
}
