import type { Socket } from 'node:net'

/**
 * The connection of a request that wants to leave HTTP/1, while its response is pending: the parser is detached. It is read so
 * that a disconnect is noticed. A client that sends data before the response waits behind the bytes read first.
 */
export class WaitingSocket {
  readonly #socket: Socket
  readonly #heard: Buffer[]
  #isReleased = false

  /** @param rest the bytes after the request */
  constructor(socket: Socket, rest: Buffer) {
    this.#socket = socket
    this.#heard = [rest]
  }

  /** Begins to read, unless the connection was released meanwhile. `onEnd`: the client sends nothing more. */
  listen(onEnd: () => void): void {
    if (this.#isReleased || this.#socket.destroyed) return
    this.#socket.on('data', this.#hear)
    this.#socket.once('end', onEnd)
  }

  /** Ends reading; the connection flows to the listener attached in this turn. Returns the bytes after the request. */
  release(): Buffer {
    this.#isReleased = true
    this.#socket.off('data', this.#hear)
    if (this.#heard.length > 1) this.#socket.resume()
    return Buffer.concat(this.#heard.splice(0))
  }

  readonly #hear = (bytes: Buffer): void => {
    this.#heard.push(bytes)
    this.#socket.pause()
  }
}
