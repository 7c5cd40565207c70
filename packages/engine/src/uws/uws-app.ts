import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
import type { UwsIntake } from './uws-intake.ts'
import { UwsWebSocketRoute } from './uws-web-socket-route.ts'

/** The routes of one server name. */
export type AddedRoutes = Pick<UwsWebSocketRoute, 'leave'>

/** One app of the library with its routes: it counts its connections, and can be left to them. */
export class UwsApp {
  readonly app: TemplatedApp
  readonly #intake: UwsIntake
  readonly #onConnections: (change: number) => void
  readonly #onProblem: (error: unknown) => void
  readonly #webSockets = new Set<AddedRoutes>()
  connections = 0
  #isLeaving = false

  /** The routes are those of connections for which no server name was added. */
  constructor(
    app: TemplatedApp,
    intake: UwsIntake,
    { counted, problem }: { readonly counted: (change: number) => void; readonly problem: (error: unknown) => void },
  ) {
    this.app = app
    this.#intake = intake
    this.#onConnections = counted
    this.#onProblem = problem
    this.addRoutes(undefined)
    app.filter((res, change) => this.#counted(change, res))
  }

  /** Adds the routes of the server name that is chosen at this moment; each has its own. */
  addRoutes(serverName: string | undefined): AddedRoutes {
    const { app } = this
    const intake = this.#intake
    const webSockets: UwsWebSocketRoute = new UwsWebSocketRoute({
      handle: (res, req, upgrade) => intake.handle(door, res, req, 'GET', upgrade),
      // The library says nothing of connections that were upgraded.
      connectionClosed: () => this.#counted(-1),
      problem: this.#onProblem,
    })
    const door = { serverName, webSockets }
    this.#webSockets.add(webSockets)
    webSockets.addTo(app)
    // A route of its own for GET saves asking for the method, most of the time. It is matched in exact case.
    app.get('/*', (res, req) => intake.handle(door, res, req, 'GET'))
    app.any('/*', (res, req) => intake.handle(door, res, req, req.getCaseSensitiveMethod()))
    if (this.#isLeaving) webSockets.leave()
    return webSockets
  }

  /** The server name that these routes were added for is no more, and has no connections. */
  forget(routes: AddedRoutes): void {
    this.#webSockets.delete(routes)
  }

  /** Announces the shutdown to clients whose protocol has a way to say so. */
  leave(): void {
    this.#isLeaving = true
    for (const route of this.#webSockets) route.leave()
  }

  /** Cuts all connections, and stops listening if it does. */
  close(): void {
    this.app.close()
  }

  /** @param res of a connection that was opened */
  #counted(change: number, res?: HttpResponse): void {
    if (change < 0) this.#intake.closed()
    else if (res !== undefined) this.#intake.opened(res)
    this.connections += change
    this.#onConnections(change)
  }
}
