import uws, { type ListenSocket } from 'uWebSockets.js'
import { createServer } from 'node:net'
import type { ListenAddress, ListenerTls } from '@svc/http'
import { bindFailure, openToAll } from '../listener/binding.ts'
import type { EngineOptions } from '../listener/engine.ts'
import type { CloseGuard } from './closing.ts'
import { plainApps, TlsApps, type UwsApps } from './uws-apps.ts'
import type { UwsContext } from './uws-context.ts'
import { UwsIntake } from './uws-intake.ts'

/** How long responses may take to leave after the last request, before their connections are cut. */
const FLUSH_GRACE_MS = 500

/** State shared by the listeners of one engine. */
interface ListenerParts {
  readonly options: EngineOptions
  readonly context: UwsContext
  readonly onConnections: (change: number) => void
  /** Memory is lost until the process ends. */
  readonly onLost: (bytes: number) => void
}

/** One listen address with apps of its own, so that requests know where they came in. */
export class UwsListener {
  readonly name: string
  readonly #onConnections: (change: number) => void
  readonly #intake: UwsIntake
  readonly #apps: UwsApps
  readonly #closeGuard: CloseGuard
  #socket: ListenSocket | undefined
  connections = 0
  /** It opens its sockets itself, and clients of a server that stops are refused anyway. */
  readonly hasNew = false
  /** The library does not tell when the last bytes of a response have left. */
  readonly graceMs = FLUSH_GRACE_MS

  /** @param tls undefined: plain HTTP */
  constructor(name: string, tls: ListenerTls | undefined, { options, context, onConnections, onLost }: ListenerParts) {
    this.name = name
    this.#onConnections = onConnections
    this.#closeGuard = context.closeGuard
    this.#intake = new UwsIntake(name, tls === undefined ? 'http' : 'https', options, context)
    const events = {
      counted: (change: number) => this.#counted(change),
      problem: (error: unknown) => context.problem(error),
      lost: onLost,
    }
    this.#apps = tls === undefined ? plainApps(this.#intake, events) : new TlsApps(tls, this.#intake, events)
  }

  get isListening(): boolean {
    return this.#socket !== undefined
  }

  /** @returns the port that is bound; 0 for a unix socket */
  async listen(address: ListenAddress): Promise<number> {
    const take = (socket: ListenSocket | false) => {
      if (socket !== false) this.#socket = socket
    }
    const { listening } = this.#apps
    if (address.socket === undefined) listening.listen(address.host, address.port, take)
    else listening.listen_unix(take, address.socket)
    if (this.#socket === undefined) throw bindFailure(address, await tryToListen(address))
    if (address.socket === undefined) return uws.us_socket_local_port(this.#socket)
    openToAll(address.socket)
    return 0
  }

  /** New connections get these certificates. Plain HTTP does not become TLS. */
  setTls(tls: ListenerTls): void {
    if (this.#apps instanceof TlsApps) this.#apps.swap(tls)
  }

  /** Stops accepting. */
  unlisten(): void {
    if (this.#socket === undefined) return
    uws.us_listen_socket_close(this.#socket)
    this.#socket = undefined
  }

  /** Announces the shutdown to clients whose protocol has a way to say so. */
  leave(): void {
    this.#apps.leave()
  }

  /** Stops accepting and cuts all connections. */
  close(): void {
    this.unlisten()
    this.#apps.close()
    this.#intake.cut()
  }

  #counted(change: number): void {
    if (change < 0) this.#closeGuard.disarm()
    this.connections += change
    this.#onConnections(change)
  }
}

/** Finds out why uWebSockets.js, which does not tell, could not listen: by trying the same with a socket that does. */
function tryToListen(address: ListenAddress): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    // Exclusive: in a cluster worker the address is bound here and not in the primary process.
    const where = address.socket === undefined ? { host: address.host, port: address.port } : { path: address.socket }
    server.listen({ ...where, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
