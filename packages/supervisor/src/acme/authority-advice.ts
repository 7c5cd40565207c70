import { codeOf } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { refusalOf } from './order-certificate.ts'

/** Error codes for a certificate whose issuer is not trusted here. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** True if a file could not be written or read: all other system calls go to the authority. */
function isOfFile(error: unknown): boolean {
  return codeOf(error) === 'SUP_DIRECTORY' || (error instanceof Error && 'syscall' in error)
}

/** Returns advice for the operator about a failed order. */
export function adviceFor(error: unknown, host: string, authority: string): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (codeOf(error) === 'SUP_AUTHORITY') {
    return UNTRUSTED.has(codeOf(cause) ?? '')
      ? 'start the server with the environment variable NODE_EXTRA_CA_CERTS naming a file with the root certificate of the authority'
      : `check that this server can reach ${authority}`
  }
  if (isOfFile(error) || isOfFile(cause)) return 'check the state directory: it stores the certificates'
  if (refusalOf(error) !== undefined) return 'no action needed: the server retries at the given time'
  const isProving = error instanceof SupervisorError && error.data?.['isProving'] === true
  if (!isProving) return `check that ${authority} is the directory of an authority that issues certificates for ${host}`
  return `check that http://${host}/.well-known/acme-challenge/ leads to this server on port 80 from everywhere`
}
