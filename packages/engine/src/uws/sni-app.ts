import uws, { type SslOptions } from 'uWebSockets.js'
import { existsSync } from 'node:fs'
import { messageOf } from '@svc/core'
import type { CertificateSpec, ListenerTls } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import type { ServerNames } from '../listener/server-names.ts'
import { type AddedRoutes, UwsApp } from './uws-app.ts'
import type { UwsIntake } from './uws-intake.ts'

/** With TLS 1.2 only suites with forward secrecy and authenticated encryption; those of TLS 1.3 are chosen by the library. */
const CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Certificate options of the library. */
export function sslOptions({ certFile, keyFile, ciphers = CIPHERS }: CertificateSpec): SslOptions {
  return { cert_file_name: certFile, key_file_name: keyFile, ssl_ciphers: ciphers }
}

/**
 * Tests if the library takes a certificate, with an app that is thrown away: where names are added to one that is in use, a bad
 * certificate is passed over in silence.
 * @throws ENGINE_BAD_CERTIFICATE
 */
export function tryCertificate(address: string, certificate: CertificateSpec): void {
  try {
    uws.SSLApp(sslOptions(certificate)).close()
  } catch (cause) {
    const message = `${address}: certificate ${certificate.title}: ${messageOf(cause)}`
    throw new EngineError('ENGINE_BAD_CERTIFICATE', message, { cause })
  }
}

/** Names that clients may make up: each that is added costs memory until the next change of certificates. */
const MAX_EXTRA_NAMES = 1_000
const MAX_NAME_CHARS = 253
/** Names that may be added unchanged: the library gives a meaning to "*". */
const HOST_NAME = /^[\w-]+(?:\.[\w-]+)*$/

/** Memory that the library never frees, for an app and for each name that was added. Measured. */
const APP_BYTES = 160 * 1024
const NAME_BYTES = 24 * 1024

/** The certificates in force, and which belongs to which name. */
interface SniNames {
  readonly tls: ListenerTls
  readonly names: ServerNames
}

/** Dependencies of the app of a set of certificates. */
interface SniAppOptions extends SniNames {
  readonly intake: UwsIntake
  readonly counted: (change: number) => void
  readonly problem: (error: unknown) => void
}

/** A name as it was added. */
interface AddedName {
  readonly certificate: CertificateSpec
  readonly routes: AddedRoutes
}

/** Which certificate a name is added with. */
interface NamePlan {
  /** Names of the configuration. */
  readonly configured: ReadonlySet<string>
  readonly names: ServerNames
  /** By their ids. */
  readonly certificates: ReadonlyMap<string, CertificateSpec>
}

/**
 * The app for one set of certificates. Names are added when a client first names them, in the very case it used: the library compares
 * case, keeps routes for each name, and takes one for each that is known in advance.
 */
export class SniApp {
  readonly routes: UwsApp
  /** Served to clients that name no server; it never changes. */
  readonly #fallback: CertificateSpec
  readonly #problem: (error: unknown) => void
  /**
   * The plan by which names are added; undefined: no more are added. The library never frees an app, so this reference must be dropped
   * first.
   */
  #plan: NamePlan | undefined
  readonly #added = new Map<string, AddedName>()
  #extraNames = 0
  #isSealed = false

  constructor({ tls, names, intake, counted, problem }: SniAppOptions) {
    this.#fallback = fallbackOf(tls)
    this.routes = new UwsApp(uws.SSLApp(sslOptions(this.#fallback)), intake, { counted, problem })
    this.#problem = problem
    this.#plan = planOf({ tls, names })
    this.routes.app.missingServerName((name) => this.#missing(name))
  }

  /** Stops adding names until `renew`, and drops the plan. */
  rest(): void {
    this.#plan = undefined
  }

  /**
   * Takes other certificates. No connection may be left: the library would crash. Names that keep their certificate stay, for each that is
   * added again costs memory.
   * @returns how many bytes leak; undefined: it cannot, since clients that name no server would get a certificate that was removed
   */
  renew({ tls, names }: SniNames): number | undefined {
    if (!isSame(this.#fallback, fallbackOf(tls))) return undefined
    const plan = planOf({ tls, names })
    let bytes = 0
    for (const [name, { certificate }] of [...this.#added]) {
      const next = plan.certificates.get(names.certificateOf(name.toLowerCase()))
      if (!this.#isSealed && next !== undefined && isSame(certificate, next)) continue
      this.#remove(name)
      bytes += NAME_BYTES
    }
    this.#extraNames = [...this.#added.keys()].filter((name) => !plan.configured.has(name)).length
    this.#isSealed = false
    this.#plan = plan
    return bytes
  }

  /**
   * Ends it for good. No connection may be left.
   * @returns how many bytes stay behind
   */
  close(): number {
    const bytes = APP_BYTES + NAME_BYTES * this.#added.size
    for (const name of [...this.#added.keys()]) this.#remove(name)
    this.#plan = undefined
    this.routes.close()
    return bytes
  }

  /** Called by the library in the middle of a handshake, which continues with the added certificate. Must not throw. */
  #missing(sent: string): void {
    try {
      const plan = this.#plan
      if (plan === undefined || sent.length > MAX_NAME_CHARS || !HOST_NAME.test(sent) || this.#added.has(sent)) return
      if (!plan.configured.has(sent) && ++this.#extraNames > MAX_EXTRA_NAMES) this.#seal(plan)
      else this.#add(plan, sent, sent.toLowerCase())
    } catch (error) {
      this.#problem(error)
    }
  }

  /** From now on only configured names: all of them at once, because a wildcard keeps the library from calling back. */
  #seal(plan: NamePlan): void {
    this.#plan = undefined
    this.#isSealed = true
    for (const name of plan.configured) {
      if (!this.#added.has(name)) this.#add(plan, name, name.startsWith('*') ? undefined : name)
    }
  }

  #add({ names, certificates }: NamePlan, name: string, serverName: string | undefined): void {
    const certificate = certificates.get(names.certificateOf(name.toLowerCase()))
    if (certificate === undefined) return
    // The library would serve another one without a word.
    if (!existsSync(certificate.certFile) || !existsSync(certificate.keyFile)) {
      const message = `the copy of ${certificate.title} or its key is missing: ${name} gets another certificate`
      this.#problem(new EngineError('ENGINE_BAD_CERTIFICATE', message))
      return
    }
    const { app } = this.routes
    app.addServerName(name, sslOptions(certificate))
    app.domain(name)
    this.#added.set(name, { certificate, routes: this.routes.addRoutes(serverName) })
  }

  #remove(name: string): void {
    const added = this.#added.get(name)
    if (added === undefined) return
    this.#added.delete(name)
    this.routes.app.removeServerName(name)
    this.routes.forget(added.routes)
  }
}

function isSame(one: CertificateSpec, other: CertificateSpec): boolean {
  return one.id === other.id && one.certFile === other.certFile && one.keyFile === other.keyFile
}

function planOf({ tls, names }: SniNames): NamePlan {
  return {
    configured: new Set(tls.names.map(([name]) => name)),
    names,
    certificates: new Map(tls.certificates.map((certificate) => [certificate.id, certificate])),
  }
}

/**
 * The certificate for clients that name no server.
 * @throws ENGINE_BAD_CERTIFICATE
 */
export function fallbackOf({ certificates, fallback }: ListenerTls): CertificateSpec {
  const found = certificates.find(({ id }) => id === fallback)
  if (found === undefined) throw new EngineError('ENGINE_BAD_CERTIFICATE', 'there is no default certificate')
  return found
}
