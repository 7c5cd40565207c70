import uws from 'uWebSockets.js'
import { existsSync } from 'node:fs'
import type { CertificateSpec, ListenerTls } from '@svc/protocol'
import { EngineError } from '../errors.ts'
import type { ServerNames } from '../server-names.ts'
import { sslOptions } from './certificate-trial.ts'
import { UwsApp } from './uws-app.ts'
import type { UwsIntake } from './uws-intake.ts'

/** Names that clients may make up: each that is added costs memory until the next change of certificates. */
const MAX_EXTRA_NAMES = 1_000
const MAX_NAME_CHARS = 253
/** What may be added as it is: the library gives a meaning to "*". */
const HOST_NAME = /^[\w-]+(?:\.[\w-]+)*$/

/** What the library never gives back of an app, and of each name that was added. Measured. */
const APP_BYTES = 100 * 1024
const NAME_BYTES = 4 * 1024

/** What the app of a set of certificates is made with. */
export interface SniAppOptions {
  readonly tls: ListenerTls
  readonly names: ServerNames
  readonly intake: UwsIntake
  readonly counted: (change: number) => void
  readonly problem: (error: unknown) => void
}

/**
 * The app for one set of certificates. Names are added when a client first names them, in the very case it used: the library compares
 * case, keeps routes for each name, and takes one for each that is known in advance.
 */
export class SniApp {
  readonly routes: UwsApp
  readonly #configured: ReadonlySet<string>
  readonly #names: ServerNames
  readonly #problem: (error: unknown) => void
  readonly #certificates: ReadonlyMap<string, CertificateSpec>
  readonly #added = new Set<string>()
  #extraNames = 0
  #isSealed = false

  constructor({ tls, names, intake, counted, problem }: SniAppOptions) {
    this.routes = new UwsApp(uws.SSLApp(sslOptions(fallbackOf(tls))), intake, { counted, problem })
    this.#configured = new Set(tls.names.map(([name]) => name))
    this.#names = names
    this.#problem = problem
    this.#certificates = new Map(tls.certificates.map((certificate) => [certificate.id, certificate]))
    this.routes.app.missingServerName((name) => this.#missing(name))
  }

  /**
   * Gives back what it can. No connection may be left: the library would crash.
   * @returns how many bytes stay behind
   */
  release(): number {
    const bytes = APP_BYTES + NAME_BYTES * this.#added.size
    for (const name of this.#added) this.routes.app.removeServerName(name)
    this.#added.clear()
    this.#isSealed = true
    this.routes.close()
    return bytes
  }

  /** Called by the library in the middle of a handshake, which goes on with what is added. Must not throw. */
  #missing(sent: string): void {
    try {
      if (this.#isSealed || sent.length > MAX_NAME_CHARS || !HOST_NAME.test(sent) || this.#added.has(sent)) return
      if (!this.#configured.has(sent) && ++this.#extraNames > MAX_EXTRA_NAMES) this.#seal()
      else this.#add(sent, sent.toLowerCase())
    } catch (error) {
      this.#problem(error)
    }
  }

  /** From now on only what is configured: all of it at once, because a wildcard keeps the library from asking. */
  #seal(): void {
    this.#isSealed = true
    for (const name of this.#configured) {
      if (!this.#added.has(name)) this.#add(name, name.startsWith('*') ? undefined : name)
    }
  }

  #add(name: string, serverName: string | undefined): void {
    const certificate = this.#certificates.get(this.#names.certificateOf(name.toLowerCase()))
    if (certificate === undefined) return
    // The library would serve another one without a word.
    if (!existsSync(certificate.certFile) || !existsSync(certificate.keyFile)) {
      const message = `the copy of ${certificate.title} or its key is gone: ${name} gets another certificate`
      this.#problem(new EngineError('ENGINE_BAD_CERTIFICATE', message))
      return
    }
    this.#added.add(name)
    const { app } = this.routes
    app.addServerName(name, sslOptions(certificate))
    app.domain(name)
    this.routes.addRoutes(serverName)
  }
}

/**
 * The certificate for clients that name no server.
 * @throws ENGINE_BAD_CERTIFICATE
 */
export function fallbackOf({ certificates, fallback }: ListenerTls): CertificateSpec {
  const found = certificates.find(({ id }) => id === fallback)
  if (found === undefined) throw new EngineError('ENGINE_BAD_CERTIFICATE', 'there is no certificate to fall back to')
  return found
}
