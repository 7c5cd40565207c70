import { resolve } from 'node:path'
import { parseCount } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

/** Those that OpenSSL still has, from old to new. */
export const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const
const GONE = ['SSLv2', 'SSLv3']

/** The absolute path of a file that is there while the configuration is in service. */
function fileOf(call: DirectiveCall): string | undefined {
  if (call.arg(0).includes('$')) return call.fail(`"${call.name}" cannot have variables here`, 0)
  if (call.arg(0) === '') return call.invalidValue(0)
  const path = resolve(call.baseDir, call.text(0))
  call.tools.needs.add('certificates', path, call.place)
  return path
}

function versionsOf(call: DirectiveCall): readonly (typeof TLS_VERSIONS)[number][] | undefined {
  const written = call.every((at) => call.oneOf(at, [...GONE, ...TLS_VERSIONS]))
  const versions = TLS_VERSIONS.filter((version) => written?.includes(version))
  return written === undefined || versions.length > 0 ? written && versions : call.fail('none of these versions is supported', 0)
}

/** The directives about connections with TLS that `proxy_` and `uwsgi_` share. */
function family(prefix: 'proxy' | 'uwsgi') {
  const flag = { args: 1, parse: (call: DirectiveCall) => call.flag(0) } as const
  const file = { args: 1, parse: fileOf } as const
  return {
    serverName: rule(`${prefix}_ssl_server_name`, flag),
    name: rule(`${prefix}_ssl_name`, { args: 1, parse: (call) => call.template(0) }),
    verify: rule(`${prefix}_ssl_verify`, flag),
    verifyDepth: rule(`${prefix}_ssl_verify_depth`, {
      args: 1,
      parse: (call) => parseCount(call.arg(0)) ?? call.invalidValue(0),
    }),
    trusted: rule(`${prefix}_ssl_trusted_certificate`, file),
    crl: rule(`${prefix}_ssl_crl`, file),
    certificate: rule(`${prefix}_ssl_certificate`, file),
    key: rule(`${prefix}_ssl_certificate_key`, file),
    passwords: rule(`${prefix}_ssl_password_file`, file),
    protocols: rule(`${prefix}_ssl_protocols`, { args: [1, MANY], parse: versionsOf }),
    ciphers: rule(`${prefix}_ssl_ciphers`, { args: 1, parse: (call) => call.arg(0) || call.invalidValue(0) }),
  }
}

/** By the beginning of their names. */
export const tlsFamilies = { proxy: family('proxy'), uwsgi: family('uwsgi') } as const
