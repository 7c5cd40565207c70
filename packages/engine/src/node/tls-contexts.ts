import { constants } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { messageOf } from '@svc/core'
import { type CertificateSpec, type ListenerTls, REJECTED } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import { isSameTls, ServerNames } from '../listener/server-names.ts'

/** Options of the handshakes for a name. */
interface NamedOptions {
  /** Of the certificate. */
  readonly id: string
  readonly options: SecureContextOptions
  readonly clients: CertificateSpec['clients']
}

/** A certificate that can be used. */
interface Ready {
  readonly options: SecureContextOptions
  readonly context: SecureContext
}

/** The certificates of one listen address, ready for use. Rebuilt when they change; unchanged ones are reused. */
export class TlsContexts {
  /** Certificate for clients that name no server. */
  readonly fallback: SecureContextOptions
  readonly #contexts = new Map<string, Ready>()
  readonly names: ServerNames
  /**
   * True if names differ in more than one certificate: Node changes nothing but that once a handshake has begun, so the name is
   * looked at before.
   */
  readonly isByName: boolean
  readonly #tls: ListenerTls

  /**
   * @param name of the listen address, for messages
   * @param before its contexts are reused for unchanged certificates
   * @throws ENGINE_BAD_CERTIFICATE
   */
  constructor(name: string, tls: ListenerTls, before: TlsContexts | undefined) {
    const fallback = tls.certificates.find(({ id }) => id === tls.fallback)
    if (fallback === undefined && tls.fallback !== REJECTED)
      throw new EngineError('ENGINE_BAD_CERTIFICATE', `${name} has no default certificate`)
    const known = before !== undefined && before.#tls.minVersion === tls.minVersion ? before.#contexts : undefined
    this.#tls = tls
    this.isByName =
      [tls.fallback, ...tls.names.map(([, id]) => id)].includes(REJECTED) ||
      tls.certificates.some((one) => [one.others, one.ciphers, one.clients].some((own) => own !== undefined))
    this.names = new ServerNames(tls)
    this.fallback = fallback === undefined ? {} : optionsOf(name, fallback, tls.minVersion)
    for (const certificate of tls.certificates) {
      this.#contexts.set(certificate.id, known?.get(certificate.id) ?? readyOf(name, certificate, tls.minVersion))
    }
  }

  /** True if these contexts match the wanted certificates. */
  isFor(tls: ListenerTls): boolean {
    return isSameTls(this.#tls, tls)
  }

  /** True if requests that come without TLS are requests like others. */
  get takesPlain(): boolean {
    return this.#tls.takesPlain === true
  }

  /** The certificate for a server name, and its options. Undefined: the handshake is rejected. */
  optionsFor(serverName: string): NamedOptions | undefined {
    const id = this.names.certificateOf(serverName)
    const options = this.#contexts.get(id)?.options
    return options && { id, options, clients: this.#tls.certificates.find((one) => one.id === id)?.clients }
  }

  /** The context for a server name. Undefined: the fallback. */
  find(serverName: string): SecureContext | undefined {
    const id = this.names.find(serverName.toLowerCase())
    return id === undefined ? undefined : this.#contexts.get(id)?.context
  }
}

/** Node has no TLS 1.3 without them. As with nginx, lists of ciphers are for TLS 1.2. */
const TLS13_SUITES = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256'

function readyOf(name: string, certificate: CertificateSpec, minVersion: ListenerTls['minVersion']): Ready {
  const options = optionsOf(name, certificate, minVersion)
  try {
    return { options, context: createSecureContext(options) }
  } catch (cause) {
    throw badCertificate(name, certificate, cause)
  }
}

function optionsOf(name: string, certificate: CertificateSpec, minVersion: ListenerTls['minVersion']): SecureContextOptions {
  try {
    const { certFile, keyFile, others = [], ciphers, clients } = certificate
    const pairs = [{ certFile, keyFile }, ...others]
    return {
      cert: pairs.map((pair) => readFileSync(pair.certFile)),
      key: pairs.map((pair) => readFileSync(pair.keyFile)),
      ...(ciphers !== undefined && { ciphers: `${TLS13_SUITES}:${ciphers}` }),
      // Without any, those of Node would count.
      ...(clients !== undefined && { ca: clients.authorities === '' ? [] : [clients.authorities] }),
      ...(clients?.crl !== undefined && { crl: listsIn(clients.crl) }),
      minVersion: minVersion === '1.3' ? 'TLSv1.3' : 'TLSv1.2',
      honorCipherOrder: true,
      // ChaCha20 for clients that put it first: they have no instructions for AES. A resumed session would pass over the lists of
      // revoked certificates.
      secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA | (clients === undefined ? 0 : constants.SSL_OP_NO_TICKET),
    }
  } catch (cause) {
    throw badCertificate(name, certificate, cause)
  }
}

/** Node reads one list of each text. */
function listsIn(pem: string): string[] {
  return pem.split(/(?=-----BEGIN X509 CRL-----)/).filter((list) => list.includes('-----BEGIN X509 CRL-----'))
}

function badCertificate(name: string, { title }: CertificateSpec, cause: unknown): EngineError {
  return new EngineError('ENGINE_BAD_CERTIFICATE', `${name}: certificate ${title}: ${messageOf(cause)}`, { cause })
}
