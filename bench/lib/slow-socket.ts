import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** A unix socket that passes everything on to another one, and replies with a delay that can be changed at any time. */
export class SlowSocket {
  /** Milliseconds of each reply, beside those of the server. */
  delayMs = 0
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#accept(client))
  readonly #target: string

  private constructor(target: string) {
    this.#target = target
  }

  /** Listens on `path`, in front of the server that listens on `target`. */
  static async start(path: string, target: string): Promise<SlowSocket> {
    const slow = new SlowSocket(target)
    rmSync(path, { force: true })
    slow.#server.listen(path)
    await once(slow.#server, 'listening')
    return slow
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(client: Socket): void {
    const upstream = connect(this.#target)
    this.#join(client, upstream)
    this.#join(upstream, client)
    client.on('data', (chunk) => upstream.write(chunk))
    let previous = Promise.resolve()
    upstream.on('data', (chunk) => {
      const dueAt = performance.now() + this.delayMs
      previous = previous.then(async () => {
        const waitMs = dueAt - performance.now()
        if (waitMs > 0) await pause(waitMs)
        client.write(chunk)
      })
    })
  }

  /** Ends a connection with the other one. */
  #join(socket: Socket, other: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      other.destroy()
    })
  }
}
