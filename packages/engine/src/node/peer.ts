import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { canonicalAddress } from '@svc/http'

/** Address of the peer in canonical text form; "" when the connection is closed or uses a unix socket. */
export function peerAddress(socket: Pick<Socket, 'remoteAddress'>): string {
  const { remoteAddress = '' } = socket
  return canonicalAddress(remoteAddress) ?? canonicalAddress(remoteAddress.split('%')[0] ?? '') ?? ''
}

/** The name that a client has named in its TLS handshake. */
export function serverNameOf(socket: TLSSocket): string | undefined {
  const { servername } = socket as { servername?: string | false | null }
  return typeof servername === 'string' && servername !== '' ? servername.toLowerCase() : undefined
}
