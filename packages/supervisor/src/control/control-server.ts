import { once } from 'node:events'
import { chmod, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { createSocketChannel, type Handlers, listenUnix, RpcPeer } from '@svc/core'
import { controlClientMethods, controlMethods, PROTOCOL_VERSION } from '@svc/protocol'

/** Handlers of the command line's calls to a running master. */
export type ControlHandlers = Handlers<typeof controlMethods>

/** Requests are a few words: this is ample. */
const MAX_REQUEST_BYTES = 1024 * 1024
const PRIVATE = 0o600

/** Answers the command line on a unix socket that only the user of the instance can open. */
export class ControlServer {
  readonly #path: string
  readonly #handlers: ControlHandlers
  readonly #onProblem: (error: Error) => void
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(path: string, handlers: ControlHandlers, onProblem: (error: Error) => void) {
    this.#path = path
    this.#handlers = handlers
    this.#onProblem = onProblem
    this.#server = createServer((socket) => this.#accept(socket))
  }

  async start(): Promise<void> {
    listenUnix(this.#server, this.#path)
    await once(this.#server, 'listening')
    await chmod(this.#path, PRIVATE)
  }

  /** Stops listening and flushes the responses in flight. */
  async close(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    // A client that has been suspended does not end its side.
    for (const socket of this.#sockets) socket.destroySoon()
    await once(this.#server, 'close')
    await rm(this.#path, { force: true })
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    new RpcPeer({
      channel: createSocketChannel(socket, { maxFrameBytes: MAX_REQUEST_BYTES }),
      local: controlMethods,
      handlers: this.#handlers,
      remote: controlClientMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'control client',
      onProblem: this.#onProblem,
    })
  }
}
