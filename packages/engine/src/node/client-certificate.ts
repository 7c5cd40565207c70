import type { TLSSocket } from 'node:tls'
import type { ClientAuthorities, ClientCertificate } from '@svc/http'

/** A handshake in which the client was asked for a certificate. */
export interface GuardedHandshake {
  /** Of the certificate of this server. */
  readonly id: string
  readonly clients: ClientAuthorities
}

/** The reasons of OpenSSL, by the names that Node gives them. */
const REASONS: Readonly<Record<string, string>> = {
  CERT_CHAIN_TOO_LONG: 'certificate chain too long',
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not yet valid',
  CERT_REVOKED: 'certificate revoked',
  CERT_UNTRUSTED: 'certificate not trusted',
  CRL_HAS_EXPIRED: 'CRL has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  INVALID_CA: 'invalid CA certificate',
  INVALID_PURPOSE: 'unsuitable certificate purpose',
  PATH_LENGTH_EXCEEDED: 'path length constraint exceeded',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in certificate chain',
  UNABLE_TO_GET_CRL: 'unable to get certificate CRL',
  UNABLE_TO_GET_ISSUER_CERT: 'unable to get issuer certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unable to get local issuer certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unable to verify the first certificate',
}

/** Those that nginx lets `optional_no_ca` pass over. */
const OF_UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const handshakes = new WeakMap<TLSSocket, GuardedHandshake>()

/** Notes how a connection was secured, before anything else learns of it. */
export function noteHandshake(socket: TLSSocket, handshake: GuardedHandshake): void {
  handshakes.set(socket, handshake)
}

/** Undefined: the client was asked for no certificate. */
export function handshakeOf(socket: TLSSocket): GuardedHandshake | undefined {
  return handshakes.get(socket)
}

/** The certificate of the client of an open connection. Undefined: it has sent none. */
export function clientCertificateOf(socket: TLSSocket, { clients }: GuardedHandshake): ClientCertificate | undefined {
  // First: once the certificate was read, Node knows nothing more of its chain.
  const fault = faultOf(socket, clients.depth)
  const certificate = socket.getPeerX509Certificate()
  // Without one, Node may call a client authorized that resumes a session.
  if (certificate === undefined) return undefined
  return {
    verify: fault === undefined ? 'SUCCESS' : `FAILED:${REASONS[fault] ?? fault.toLowerCase().replaceAll('_', ' ')}`,
    isOfUnknownAuthority: fault !== undefined && OF_UNKNOWN_AUTHORITY.has(fault),
    pem: certificate.toString(),
    subject: certificate.subject,
    issuer: certificate.issuer,
    serial: certificate.serialNumber,
    fingerprint: certificate.fingerprint,
    validFrom: certificate.validFrom,
    validTo: certificate.validTo,
  }
}

function faultOf(socket: TLSSocket, maxDepth: number): string | undefined {
  if (!socket.authorized) return String(socket.authorizationError ?? 'CERT_UNTRUSTED')
  const seen = new Set<string>()
  let one = socket.getPeerCertificate(true)
  while (one !== undefined && one.fingerprint256 !== undefined && !seen.has(one.fingerprint256)) {
    seen.add(one.fingerprint256)
    one = one.issuerCertificate
  }
  // The certificate itself and that of the authority are no part of the depth.
  return seen.size - 2 > maxDepth ? 'CERT_CHAIN_TOO_LONG' : undefined
}
