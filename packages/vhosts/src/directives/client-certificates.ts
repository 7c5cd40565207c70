import { resolve } from 'node:path'
import { parseCount } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { type Context, rule } from './rule.ts'

const HERE: readonly Context[] = ['main', 'server']

function fileOf(call: DirectiveCall): string | undefined {
  if (call.arg(0).includes('$')) return call.fail(`"${call.name}" cannot have variables here`, 0)
  if (call.arg(0) === '') return call.invalidValue(0)
  const path = resolve(call.baseDir, call.text(0))
  call.tools.needs.add('certificates', path, call.place)
  return path
}

const file = { in: HERE, args: 1, parse: fileOf } as const

/** `ssl_verify_client`: whether clients must, or may, have a certificate. */
export const sslVerifyClient = rule('ssl_verify_client', {
  in: HERE,
  args: 1,
  parse: (call) => {
    const mode = call.oneOf(0, ['on', 'off', 'optional', 'optional_no_ca'])
    return mode === undefined ? undefined : { mode, call }
  },
})

/** `ssl_client_certificate`: authorities of clients. */
export const sslClientCertificate = rule('ssl_client_certificate', file)

/** `ssl_trusted_certificate`: further authorities. */
export const sslTrustedCertificate = rule('ssl_trusted_certificate', file)

/** `ssl_crl`: revoked certificates. */
export const sslCrl = rule('ssl_crl', file)

/** `ssl_verify_depth`: how many certificates may be between that of a client and its authority. */
export const sslVerifyDepth = rule('ssl_verify_depth', {
  in: HERE,
  args: 1,
  parse: (call) => parseCount(call.arg(0)) ?? call.invalidValue(0),
})
