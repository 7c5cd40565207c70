import uws, { type TemplatedApp } from 'uWebSockets.js'
import type { ListenerTls } from '@svc/http'
import { ServerNames } from '../listener/server-names.ts'
import { fallbackOf, SniApp, sslOptions } from './sni-app.ts'
import { UwsApp } from './uws-app.ts'
import type { UwsIntake } from './uws-intake.ts'

/**
 * Far longer than the library looks at a connection that has closed, and than a connection that it has accepted waits for its app: it gets
 * there a turn later, so it may come to an app that is no longer in force and has none.
 */
const RELEASE_MS = 1_000

/** Called for connections, faults, and memory that is lost until the process ends. */
interface AppEvents {
  readonly counted: (change: number) => void
  readonly problem: (error: unknown) => void
  readonly lost: (bytes: number) => void
}

/** Accepts the connections of one listen address. */
export interface UwsApps {
  /** The one that listens. */
  readonly listening: TemplatedApp
  /** Announces the shutdown to clients whose protocol has a way to say so. */
  leave(): void
  /** Stops listening and cuts all connections. */
  close(): void
}

/** Plain HTTP: one app for good. */
export function plainApps(intake: UwsIntake, events: AppEvents): UwsApps {
  const routes = new UwsApp(uws.App(), intake, events)
  return { listening: routes.app, leave: () => routes.leave(), close: () => routes.close() }
}

/**
 * TLS: one app listens and never changes, and hands each connection to the app with the certificates in force. Those before keep their
 * connections to the end: names cannot be taken from an app that has connections, nor given another certificate.
 */
export class TlsApps implements UwsApps {
  readonly listening: TemplatedApp
  readonly #intake: UwsIntake
  readonly #events: AppEvents
  #current: SniApp
  readonly #leaving = new Set<SniApp>()
  /** One that has no connections: an app costs memory for good, so it is used again. */
  #spare: SniApp | undefined
  #isLeaving = false

  /** @throws ENGINE_BAD_CERTIFICATE; the certificates have to be tried before */
  constructor(tls: ListenerTls, intake: UwsIntake, events: AppEvents) {
    this.#intake = intake
    this.#events = events
    this.#current = this.#appFor(tls)
    this.listening = uws.SSLApp(sslOptions(fallbackOf(tls)))
    this.listening.addChildAppDescriptor(this.#current.routes.app.getDescriptor())
  }

  /** New connections get these certificates. */
  swap(tls: ListenerTls): void {
    const before = this.#current
    const next = this.#appFor(tls)
    this.listening.addChildAppDescriptor(next.routes.app.getDescriptor())
    this.listening.removeChildAppDescriptor(before.routes.app.getDescriptor())
    this.#current = next
    if (before.routes.connections === 0) this.#release(before)
    else this.#leaving.add(before)
  }

  leave(): void {
    this.#isLeaving = true
    for (const app of [this.#current, ...this.#leaving]) app.routes.leave()
  }

  close(): void {
    this.listening.close()
    const spare = this.#takeSpare()
    for (const app of [this.#current, ...this.#leaving]) app.routes.close()
    spare?.close()
    this.#leaving.clear()
  }

  #appFor(tls: ListenerTls): SniApp {
    const names = new ServerNames(tls)
    this.#intake.names = names
    const spare = this.#takeSpare()
    const bytes = spare?.renew({ tls, names })
    if (spare !== undefined && bytes !== undefined) {
      this.#events.lost(bytes)
      return spare
    }
    this.#spare = spare
    const app: SniApp = new SniApp({
      tls,
      names,
      intake: this.#intake,
      counted: (change) => {
        this.#events.counted(change)
        if (app.routes.connections === 0 && this.#leaving.delete(app)) this.#release(app)
      },
      problem: this.#events.problem,
    })
    if (this.#isLeaving) app.routes.leave()
    return app
  }

  /** Keeps an app without connections for later, or ends it. */
  #release(app: SniApp): void {
    setTimeout(() => {
      if (app.routes.connections > 0) {
        this.#leaving.add(app)
        return
      }
      const replaced = this.#takeSpare()
      this.#spare = app
      app.rest()
      if (replaced !== undefined) this.#events.lost(replaced.close())
    }, RELEASE_MS).unref()
  }

  /** The spare app; undefined also when a connection has come to it after all, for which it must stay as it is. */
  #takeSpare(): SniApp | undefined {
    const spare = this.#spare
    this.#spare = undefined
    if (spare === undefined || spare.routes.connections === 0) return spare
    this.#leaving.add(spare)
    return undefined
  }
}
