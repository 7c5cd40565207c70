import { once } from 'node:events'
import { chmod, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import type { Clock } from '../timing/clock.ts'
import { listenUnix } from './unix-path.ts'

const PRIVATE = 0o600
/** Time for a peer to read the last words. A suspended one neither reads nor closes. */
const LAST_WORDS_MS = 1_000

/** Listens on a unix socket that only the user of the process can open. */
export class PrivateServer {
  readonly #path: string
  readonly #clock: Clock
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(path: string, clock: Clock, accept: (socket: Socket) => void) {
    this.#path = path
    this.#clock = clock
    this.#server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      accept(socket)
    })
  }

  async start(): Promise<void> {
    listenUnix(this.#server, this.#path)
    await once(this.#server, 'listening')
    await chmod(this.#path, PRIVATE)
  }

  /** Stops listening, sends the responses in flight and ends all connections. */
  async close(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    for (const socket of this.#sockets) this.cut(socket)
    await once(this.#server, 'close')
    await rm(this.#path, { force: true })
  }

  /** Ends both halves of a connection after what is queued was sent, whatever the peer does with its own. */
  cut(socket: Socket): void {
    const cancel = this.#clock.after(LAST_WORDS_MS, () => socket.destroy())
    socket.once('close', cancel)
    socket.destroySoon()
  }
}
