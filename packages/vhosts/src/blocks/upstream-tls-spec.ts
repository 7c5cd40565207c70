import type { DirectiveCall } from '../directives/directive-call.ts'
import { TLS_VERSIONS, tlsFamilies } from '../directives/upstream-tls.ts'
import type { UpstreamTlsSpec } from '../spec/spec.ts'
import type { Level } from './level.ts'

/** The settings of connections with TLS of a level. @param call names the upstream */
export function upstreamTlsSpec(level: Level, prefix: 'proxy' | 'uwsgi', call: DirectiveCall): UpstreamTlsSpec {
  const family = tlsFamilies[prefix]
  const isVerified = level.value(family.verify) ?? false
  const [trusted, crl, cert, key] = [family.trusted, family.crl, family.certificate, family.key].map((one) => level.value(one))
  if (isVerified && trusted === undefined) call.fail(`no ${prefix}_ssl_trusted_certificate for ${prefix}_ssl_verify`)
  if (cert !== undefined && key === undefined)
    call.fail(`no "${prefix}_ssl_certificate_key" is defined for certificate "${cert}"`)
  const [name, protocols, ciphers] = [level.value(family.name), level.value(family.protocols), level.value(family.ciphers)]
  const passwords = level.value(family.passwords)
  return {
    sendsName: level.value(family.serverName) ?? false,
    isVerified,
    ...(name !== undefined && { name }),
    ...(isVerified && { maxDepth: level.value(family.verifyDepth) ?? 1 }),
    ...(isVerified && trusted !== undefined && { trusted }),
    ...(isVerified && crl !== undefined && { crl }),
    ...(cert !== undefined && key !== undefined && { certificate: { cert, key, ...(passwords !== undefined && { passwords }) } }),
    ...(protocols !== undefined && {
      minVersion: protocols[0] ?? TLS_VERSIONS[2],
      maxVersion: protocols.at(-1) ?? TLS_VERSIONS[3],
    }),
    ...(ciphers !== undefined && { ciphers }),
  }
}
