import { createHash, timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Clock, createSocketChannel, type Handlers, PrivateServer, RpcPeer } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { PROTOCOL_VERSION, unitMethods, unitParentMethods } from '@svc/protocol'

/** RPC peer of a site unit. */
export type UnitPeer = RpcPeer<typeof unitParentMethods, typeof unitMethods>

/** The hello of a unit. */
export interface Introduction {
  readonly site: string
  readonly pid: number
  readonly version: string
}

/** Handlers of a unit's calls after its hello. */
export type UnitHandlers = Omit<Handlers<typeof unitParentMethods>, 'hello'>

/** Options of a `UnitServer`. */
interface UnitServerOptions {
  readonly path: string
  /** Undefined: no such site has a process of its own. */
  readonly tokenOf: (site: string) => string | undefined
  /** A unit has authenticated itself. Returns its handlers from now on. */
  readonly welcome: (unit: Introduction, peer: UnitPeer) => UnitHandlers
  readonly onProblem: (error: Error) => void
  readonly clock: Clock
}

/** Purge orders are the largest messages of a unit. */
const MAX_FRAME_BYTES = 8 * 1024 * 1024

function isSame(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/** Listens for site units. */
export class UnitServer {
  readonly #options: UnitServerOptions
  readonly #server: PrivateServer

  constructor(options: UnitServerOptions) {
    this.#options = options
    this.#server = new PrivateServer(options.path, options.clock, (socket) => this.#accept(socket))
  }

  start(): Promise<void> {
    return this.#server.start()
  }

  close(): Promise<void> {
    return this.#server.close()
  }

  #accept(socket: Socket): void {
    let unit: UnitHandlers | undefined
    const known = (): UnitHandlers => {
      if (unit === undefined) throw this.#refusal(socket, 'SUP_UNIT_REFUSED', 'the first call must be a hello')
      return unit
    }
    const peer: UnitPeer = new RpcPeer({
      channel: createSocketChannel(socket, { maxFrameBytes: MAX_FRAME_BYTES }),
      local: unitParentMethods,
      handlers: {
        hello: ({ token, ...introduction }) => {
          this.#check(socket, introduction.site, token)
          unit = this.#options.welcome(introduction, peer)
          return undefined
        },
        purge: (request, context) => known().purge(request, context),
        isolateLost: (request, context) => known().isolateLost(request, context),
        sharedScript: (request, context) => known().sharedScript(request, context),
        log: (request, context) => known().log(request, context),
        hostReplaced: (request, context) => known().hostReplaced(request, context),
        leaving: (request, context) => known().leaving(request, context),
        filesChanged: (request, context) => known().filesChanged(request, context),
      },
      remote: unitMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'a site unit',
      onProblem: this.#options.onProblem,
    })
    const cut = () => this.#server.cut(socket)
    peer.closed.then(cut, cut)
  }

  #check(socket: Socket, site: string, token: string): void {
    const wanted = this.#options.tokenOf(site)
    if (wanted === undefined) {
      throw this.#refusal(socket, 'SUP_UNKNOWN_SITE', `the server has no site "${site}" with process = "own"`)
    }
    if (!isSame(token, wanted)) throw this.#refusal(socket, 'SUP_UNIT_REFUSED', `not the token of the site "${site}"`)
  }

  /** Returns the error, and closes the connection after the error is sent. */
  #refusal(socket: Socket, code: 'SUP_UNIT_REFUSED' | 'SUP_UNKNOWN_SITE', message: string): SupervisorError {
    setImmediate(() => this.#server.cut(socket))
    return new SupervisorError(code, message)
  }
}
