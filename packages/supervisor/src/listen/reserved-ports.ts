import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Ports that the kernel has chosen for `port 0`, kept until the workers have them: a port that is free for a moment may go to any
 * program, and to another instance of the same user without an error, since workers share their ports (SO_REUSEPORT).
 */
export class ReservedPorts {
  readonly #servers = new Map<number, Server>()

  /** Reserves a port that no other socket has. Rejects if the address cannot be bound. */
  async reserve(host: string): Promise<number> {
    // Connections before the workers listen are of port scanners: no client knows the port yet.
    const server = createServer((socket) => socket.destroy())
    server.listen({ host, port: 0, reusePort: true })
    await once(server, 'listening')
    const bound = server.address()
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0
    this.#servers.set(port, server)
    return port
  }

  has(port: number): boolean {
    return this.#servers.has(port)
  }

  /** Gives up all ports: the workers listen on them, or never will. Idempotent. */
  release(): void {
    for (const server of this.#servers.values()) server.close()
    this.#servers.clear()
  }
}
