import { constants } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { messageOf } from '@svc/core'
import type { CertificateSpec, ListenerTls } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import { isSameTls, ServerNames } from '../listener/server-names.ts'

/** The certificates of one listen address, ready for use. Rebuilt when they change; unchanged ones are reused. */
export class TlsContexts {
  /** Certificate for clients that name no server. */
  readonly fallback: SecureContextOptions
  readonly #contexts = new Map<string, SecureContext>()
  readonly names: ServerNames
  readonly #tls: ListenerTls

  /**
   * @param name of the listen address, for messages
   * @param before its contexts are reused for unchanged certificates
   * @throws ENGINE_BAD_CERTIFICATE
   */
  constructor(name: string, tls: ListenerTls, before: TlsContexts | undefined) {
    const fallback = tls.certificates.find(({ id }) => id === tls.fallback)
    if (fallback === undefined) throw new EngineError('ENGINE_BAD_CERTIFICATE', `${name} has no default certificate`)
    const known = before !== undefined && before.#tls.minVersion === tls.minVersion ? before.#contexts : undefined
    this.#tls = tls
    this.names = new ServerNames(tls)
    this.fallback = optionsOf(name, fallback, tls.minVersion)
    for (const certificate of tls.certificates) {
      this.#contexts.set(certificate.id, known?.get(certificate.id) ?? contextOf(name, certificate, tls.minVersion))
    }
  }

  /** True if these contexts match the wanted certificates. */
  isFor(tls: ListenerTls): boolean {
    return isSameTls(this.#tls, tls)
  }

  /** The context for a server name. Undefined: the fallback. */
  find(serverName: string): SecureContext | undefined {
    const id = this.names.find(serverName.toLowerCase())
    return id === undefined ? undefined : this.#contexts.get(id)
  }
}

function contextOf(name: string, certificate: CertificateSpec, minVersion: ListenerTls['minVersion']): SecureContext {
  const options = optionsOf(name, certificate, minVersion)
  try {
    return createSecureContext(options)
  } catch (cause) {
    throw badCertificate(name, certificate, cause)
  }
}

function optionsOf(name: string, certificate: CertificateSpec, minVersion: ListenerTls['minVersion']): SecureContextOptions {
  try {
    return {
      cert: readFileSync(certificate.certFile),
      key: readFileSync(certificate.keyFile),
      minVersion: minVersion === '1.3' ? 'TLSv1.3' : 'TLSv1.2',
      honorCipherOrder: true,
      // ChaCha20 for clients that put it first: they have no instructions for AES.
      secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
    }
  } catch (cause) {
    throw badCertificate(name, certificate, cause)
  }
}

function badCertificate(name: string, { title }: CertificateSpec, cause: unknown): EngineError {
  return new EngineError('ENGINE_BAD_CERTIFICATE', `${name}: certificate ${title}: ${messageOf(cause)}`, { cause })
}
