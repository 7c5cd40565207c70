import { codeOf } from '@svc/core'

/** What is said of a certificate whose issuer is not known here. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** What whoever runs the server can do about an order that failed. */
export function adviceFor(error: unknown, host: string, authority: string): string {
  if (codeOf(error) !== 'SUP_AUTHORITY') {
    return `check that http://${host}/.well-known/acme-challenge/ leads to this server on port 80 from everywhere`
  }
  const cause = error instanceof Error ? error.cause : undefined
  return UNTRUSTED.has(codeOf(cause) ?? '')
    ? 'start the server with the environment variable NODE_EXTRA_CA_CERTS naming a file with the root certificate of the authority'
    : `check that this server can reach ${authority}`
}
