import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { asError } from '@svc/core'
import type { TlsTransport } from '@svc/upstream'
import type { UpstreamTlsSpec } from '@svc/vhosts'
import { WorkerError } from '../errors/errors.ts'
import type { LocationExchange } from '../vhost/location-handler.ts'

/** Longest file of certificates: all authorities of a system have a few hundred kilobytes. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

/** The certificates, protocols and ciphers of the locations of one generation: those of equal settings are read once. */
export class TlsContexts {
  readonly #known = new Map<string, TlsTransport['context']>()

  /** Undefined: there are no settings. */
  of(spec: UpstreamTlsSpec): TlsTransport['context'] {
    const { trusted, crl, certificate, minVersion, maxVersion, ciphers } = spec
    const key = JSON.stringify([trusted, crl, certificate, minVersion, maxVersion, ciphers])
    if (!this.#known.has(key)) this.#known.set(key, contextOf(spec))
    return this.#known.get(key)
  }
}

/** Connections with TLS to the upstream of a location. Its files are read when it is made: a reload reads them again. */
export class UpstreamTls {
  readonly #spec: UpstreamTlsSpec
  readonly #context: TlsTransport['context']

  constructor(spec: UpstreamTlsSpec, contexts: TlsContexts) {
    this.#spec = spec
    this.#context = contexts.of(spec)
  }

  /** True if all requests have the same transport. */
  get isFixed(): boolean {
    return this.#spec.name?.every((piece) => typeof piece === 'string') !== false
  }

  /**
   * @param host of the upstream, perhaps with its port
   * @param exchange the request whose variables count; undefined: there are none
   */
  transport(host: string, exchange?: LocationExchange): TlsTransport {
    const { name, sendsName, isVerified, maxDepth } = this.#spec
    const written = name === undefined ? host : (exchange?.text(name) ?? name.join(''))
    const [, bracketed, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))/.exec(written) ?? []
    const verified = bracketed ?? plain
    return {
      serverName: sendsName ? serverNameOf(written) : undefined,
      isVerified,
      ...(isVerified && verified !== 'unix' && verified !== '' && { verifiedName: verified }),
      ...(maxDepth !== undefined && { maxDepth }),
      ...(this.#context !== undefined && { context: this.#context }),
    }
  }
}

/** The name for a handshake (SNI); undefined: it has an address alone. */
function serverNameOf(host: string): string | undefined {
  const name = /^[^:[\]/]+/.exec(host)?.[0]
  return name === undefined || /^[\d.]+$/.test(name) || name === 'unix' ? undefined : name
}

function contextOf({ trusted, crl, certificate, minVersion, maxVersion, ciphers }: UpstreamTlsSpec): TlsTransport['context'] {
  const options = {
    ...(trusted !== undefined && { ca: read(trusted) }),
    ...(crl !== undefined && { crl: listsIn(read(crl)) }),
    ...(certificate !== undefined && { cert: read(certificate.cert), key: keyOf(certificate) }),
    ...(minVersion !== undefined && { minVersion }),
    ...(maxVersion !== undefined && { maxVersion }),
    ...(ciphers !== undefined && { ciphers }),
  }
  if (Object.keys(options).length === 0) return undefined
  const key = createHash('sha256').update(JSON.stringify(options)).digest('base64')
  try {
    // Loaded with the first location that needs it: it is a tenth of the start of a worker.
    return { key, secure: process.getBuiltinModule('node:tls').createSecureContext(options) }
  } catch (error) {
    const message = 'the certificates, keys or ciphers for an upstream do not fit together'
    throw new WorkerError('WORKER_NOT_PREPARED', message, { cause: asError(error) })
  }
}

/** Node.js reads one list of each text. */
function listsIn(pem: string): string[] {
  return pem.split(/(?=-----BEGIN X509 CRL-----)/).filter((list) => list.includes('-----BEGIN X509 CRL-----'))
}

/** The first password that fits counts; one is tried at most for each line. */
function keyOf({ key, passwords }: NonNullable<UpstreamTlsSpec['certificate']>): string {
  const pem = read(key)
  if (passwords === undefined) return pem
  const { createPrivateKey } = process.getBuiltinModule('node:crypto')
  for (const passphrase of read(passwords).split(/\r?\n/)) {
    try {
      return createPrivateKey({ key: pem, passphrase }).export({ type: 'pkcs8', format: 'pem' }).toString()
    } catch {
      // Another line may have the right one; without it, the key is refused as it is.
    }
  }
  return pem
}

function read(path: string): string {
  try {
    const info = statSync(path)
    if (!info.isFile() || info.size > MAX_FILE_BYTES) {
      throw new WorkerError('WORKER_NOT_PREPARED', `no regular file of at most ${MAX_FILE_BYTES} bytes`)
    }
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new WorkerError('WORKER_NOT_PREPARED', `failed to read ${path}: ${asError(error).message}`, { cause: asError(error) })
  }
}
