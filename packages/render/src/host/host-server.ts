import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { chmod } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { finished } from 'node:stream/promises'
import { createSocketChannel, type Handlers, listenUnix, RpcPeer, withDeadline } from '@svc/core'
import { PROTOCOL_VERSION, renderClientMethods, renderMethods } from '@svc/protocol'
import { RenderError } from '../errors/errors.ts'

/** How long workers may take for the last answers of a process that ends. */
const FLUSH_MS = 1_000

/** Handlers of the workers' calls, except `hello`. */
type RenderHandlers = Omit<Handlers<typeof renderMethods>, 'hello'>

/** How a host server is made. */
interface HostServerOptions {
  readonly id: string
  readonly token: string
  readonly handlers: RenderHandlers
  /** A worker has said hello. */
  readonly onWelcome: () => void
  readonly onProblem: (error: Error) => void
}

function isSameToken(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Listens for workers on a unix socket. The first call of each must be a hello with the token. */
export class HostServer {
  readonly #options: HostServerOptions
  readonly #server: Server
  readonly #peers = new Set<RpcPeer<typeof renderMethods, typeof renderClientMethods>>()
  readonly #sockets = new Set<Socket>()
  #isLeaving = false

  constructor(options: HostServerOptions) {
    this.#options = options
    this.#server = createServer((socket) => this.#accept(socket))
    this.#server.on('error', options.onProblem)
  }

  /** @throws the error of the system when it cannot listen at the path */
  async listen(path: string): Promise<void> {
    listenUnix(this.#server, path)
    await once(this.#server, 'listening')
    await chmod(path, 0o600)
  }

  /** Begins no more calls, and tells the workers the last call of each that it has begun. Calls in flight go on. */
  leave(): void {
    this.#isLeaving = true
    for (const peer of this.#peers) peer.leave()
  }

  /** Stops listening and ends all connections. Resolves when the workers have taken the last answers, or have not in time. */
  async close(): Promise<void> {
    this.#server.close()
    for (const peer of this.#peers) peer.close()
    const flushed = Promise.all(
      Array.from(this.#sockets, (socket) => finished(socket, { readable: false }).catch(() => undefined)),
    )
    await withDeadline(flushed, FLUSH_MS, 'sending the last answers').catch(this.#options.onProblem)
  }

  #accept(socket: Socket): void {
    if (this.#isLeaving) {
      socket.destroy()
      return
    }
    const { id, token, handlers, onWelcome, onProblem } = this.#options
    let isWelcome = false
    const guarded = <Request, Context, Result>(handler: (request: Request, context: Context) => Result) => {
      return (request: Request, context: Context): Result => {
        if (!isWelcome) throw this.#refuse(socket)
        return handler(request, context)
      }
    }
    const peer = new RpcPeer({
      channel: createSocketChannel(socket),
      local: renderMethods,
      handlers: {
        hello: (request) => {
          isWelcome = isSameToken(request.token, token)
          if (!isWelcome) throw this.#refuse(socket)
          onWelcome()
          return { host: id }
        },
        describe: guarded(handlers.describe),
        render: guarded(handlers.render),
      },
      remote: renderClientMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'worker',
      onProblem,
    })
    this.#peers.add(peer)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    peer.closed.then(() => this.#peers.delete(peer), onProblem)
  }

  /** The error goes out before the connection ends. */
  #refuse(socket: Socket): RenderError {
    setImmediate(() => socket.destroySoon())
    return new RenderError('RENDER_UNAUTHORIZED', 'the first call must be a hello with the right token')
  }
}
