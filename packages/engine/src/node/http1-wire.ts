import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type HeaderList, statusText } from '@svc/http'
import { hasCloseOption } from '../exchange/request-gate.ts'
import type { NodeHead } from './node-head.ts'
import type { Framing, ResponseWire } from './response-wire.ts'

/** The response side of a request by HTTP/1.0 or HTTP/1.1. */
export class Http1Wire implements ResponseWire {
  readonly isMultiplexed = false
  readonly out: ServerResponse
  readonly #request: IncomingMessage
  readonly #socket: Socket
  readonly #canReset: boolean

  /** @param canReset true if the socket is a plain TCP socket */
  constructor(request: IncomingMessage, response: ServerResponse, canReset: boolean) {
    this.out = response
    this.#request = request
    this.#socket = request.socket
    // A head that is flushed before any of its body goes out in the encoding of the socket: one byte for each character.
    this.#socket.setDefaultEncoding('latin1')
    this.#canReset = canReset
  }

  get wantsClose(): boolean {
    if (!this.out.shouldKeepAlive) return true
    // In HTTP/1.0 Node lets `keep-alive` prevail over `close`; RFC 9112 section 9.3 does not.
    return this.needsLength && hasCloseOption(this.#request.headers.connection ?? '')
  }

  get needsLength(): boolean {
    return this.#request.httpVersionMinor === 0
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  head({ status, fields }: NodeHead, { length, closes }: Framing): void {
    const { out } = this
    const written = fields.slice()
    if (length !== undefined) written.push('Content-Length', String(length))
    if (closes) written.push('Connection', 'close')
    // HTTP/1.1 is persistent by default; HTTP/1.0 needs the field.
    else if (this.#request.httpVersionMinor === 1) out.removeHeader('connection')
    out.writeHead(status, statusText(status), written)
  }

  showHead(): void {
    this.out.flushHeaders()
  }

  bodiless(head: NodeHead, framing: Framing): void {
    this.head(head, framing)
    this.showHead()
  }

  end(chunk: Uint8Array | undefined, trailers: HeaderList): void {
    const { out } = this
    if (trailers.length > 0 && acceptsTrailers(String(this.#request.headers.te ?? ''))) {
      out.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]))
    }
    if (chunk === undefined) out.end()
    else out.end(chunk)
  }

  informational({ status, fields }: NodeHead): void {
    const { out } = this
    if (this.#request.httpVersionMinor === 0 || out.headersSent || out.socket === null) return
    let text = `HTTP/1.1 ${status} ${statusText(status)}\r\n`
    for (let i = 0; i < fields.length; i += 2) text += `${fields[i]}: ${fields[i + 1]}\r\n`
    out.socket.write(`${text}\r\n`, 'latin1')
  }

  cut(): void {
    // If the end of the connection ends the body, only a reset tells the client that the body is truncated.
    if (this.#canReset && this.#request.httpVersionMinor === 0 && this.out.headersSent) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  stopRequest(): void {
    // The exchange reads the request to its end, or closes the connection.
  }

  over(): void {
    // The connection has time limits of its own.
  }
}

/** RFC 9110 section 6.5.1: a sender has to know that trailers are understood. */
function acceptsTrailers(te: string): boolean {
  return te.split(',').some((coding) => coding.trim().toLowerCase() === 'trailers')
}
