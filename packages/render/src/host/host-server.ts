import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { chmod } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { createSocketChannel, type Handlers, listenUnix, RpcPeer } from '@svc/core'
import { PROTOCOL_VERSION, renderClientMethods, renderMethods } from '@svc/protocol'
import { RenderError } from '../errors/errors.ts'

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

  /** Stops listening and ends all connections. */
  close(): void {
    this.#server.close()
    for (const peer of this.#peers) peer.close()
  }

  #accept(socket: Socket): void {
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
    peer.closed.then(() => this.#peers.delete(peer), onProblem)
  }

  /** The error goes out before the connection ends. */
  #refuse(socket: Socket): RenderError {
    setImmediate(() => socket.destroySoon())
    return new RenderError('RENDER_UNAUTHORIZED', 'the first call must be a hello with the right token')
  }
}
