import type { Socket } from 'node:net'

/** A client that has sent no request by then, such as a browser that connects in advance, is not waited for. */
const NEW_MS = 2_000

/**
 * Connections without a request so far. Clients send the first request of a connection once: if the connection is cut before, the request
 * fails for them, unlike on one that they have kept.
 */
export class NewConnections {
  readonly #openedAt = new Map<Socket, number>()

  /** True if one is new enough to wait for its request. */
  get hasAny(): boolean {
    const since = performance.now() - NEW_MS
    return Array.from(this.#openedAt.values()).some((openedAt) => openedAt > since)
  }

  opened(socket: Socket): void {
    this.#openedAt.set(socket, performance.now())
    socket.once('close', () => this.#openedAt.delete(socket))
  }

  /** TLS has been agreed on: requests come from this socket now, and not from the one below it. */
  secured(socket: Socket, below: Socket | undefined): void {
    if (below !== undefined) this.used(below)
    this.opened(socket)
  }

  /** A request has begun. */
  used(socket: Socket): void {
    this.#openedAt.delete(socket)
  }
}
