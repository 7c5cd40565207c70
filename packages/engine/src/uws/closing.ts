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
 * @param isTold true if the library closes it by itself, see `isClosedByLibrary`
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

/**
 * Keeps a request from running that stands behind a response which closes its connection, in the same packet. The library goes on
 * with such a packet once the response is complete, and does not say to which connection a request belongs. But it closes the connection at the
 * end of the packet: a request that comes before any connection has closed stands in the same packet. One per engine.
 */
export class CloseGuard {
  #address = ''
  /** True if the next request may stand behind such a response. */
  isArmed = false
  readonly #disarm = (): void => this.disarm()

  /** Such a response has been written within its handler, which returns. @param address of the peer */
  arm(address: string): void {
    this.#address = address
    this.isArmed = true
    // A connection that cannot take the whole response closes later. Other requests of this turn may be taken for its own by then.
    setImmediate(this.#disarm)
  }

  /** A connection has closed. */
  disarm(): void {
    this.isArmed = false
  }

  /** True if this request must not run. Only the next one is checked: after that the library closes the connection. */
  catches(address: string): boolean {
    const isCaught = this.isArmed && this.#address === address
    this.isArmed = false
    return isCaught
  }
}

const RENEW_MS = 3_000

/**
 * Keeps the library from cutting a client that stalls its response: it would after some ten seconds. To be called often, for a
 * request that has come whole. Times in ms of the monotonic clock.
 * @returns the time of the next renewal, for the next call
 */
export function renewPatience(res: HttpResponse, now: number, renewAt: number): number {
  if (now < renewAt) return renewAt
  // `resume` restarts the timer of the connection.
  res.pause()
  res.resume()
  return now + RENEW_MS
}
