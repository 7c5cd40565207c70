import * as directives from '../directives/client-certificates.ts'
import type { ClientCheck } from '../spec/spec.ts'
import type { Level } from './level.ts'

/** How the clients of a server are verified. undefined: they are not asked for a certificate. */
export function clientCheckOf(level: Level): ClientCheck | undefined {
  const written = level.value(directives.sslVerifyClient)
  if (written === undefined || written.mode === 'off') return undefined
  const { mode, call } = written
  const own = level.value(directives.sslClientCertificate)
  if (own === undefined && mode !== 'optional_no_ca') call.fail('no ssl_client_certificate for ssl_verify_client')
  const trusted = level.value(directives.sslTrustedCertificate)
  return {
    mode,
    authorities: [own, trusted].filter((path) => path !== undefined),
    crl: level.value(directives.sslCrl),
    depth: level.value(directives.sslVerifyDepth) ?? 1,
  }
}
