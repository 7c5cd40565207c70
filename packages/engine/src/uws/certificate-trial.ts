import uws, { type SslOptions } from 'uWebSockets.js'
import { messageOf } from '@svc/core'
import type { CertificateSpec } from '@svc/http'
import { EngineError } from '../errors/errors.ts'

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
export function sslOptions({ certFile, keyFile }: CertificateSpec): SslOptions {
  return { cert_file_name: certFile, key_file_name: keyFile, ssl_ciphers: CIPHERS }
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
