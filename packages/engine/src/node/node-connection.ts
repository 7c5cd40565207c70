import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ConnectionFacts, TlsFacts } from '@svc/http'
import { clientCertificateOf, type GuardedHandshake, handshakeOf } from './client-certificate.ts'
import { proxiedPeerOf } from './proxy-header.ts'

/** Facts of a connection. Read while it is open: a log line may be written after its end. */
export class NodeConnection implements ConnectionFacts {
  readonly number: number
  readonly openedAt = performance.now()
  readonly peerPort: number | undefined
  readonly ownAddress: string
  readonly tls: TlsFacts | undefined
  readonly proxied: ConnectionFacts['proxied']
  /** Id of the certificate of the handshake, if the client was asked for one too. */
  readonly handshake: string | undefined
  /** How many requests have come. Written by the intakes alone. */
  place = 0

  constructor(number: number, socket: Socket) {
    this.number = number
    this.peerPort = socket.remotePort
    this.ownAddress = socket.localAddress ?? ''
    this.proxied = proxiedPeerOf(socket instanceof TLSSocket ? (socketBelow(socket) ?? socket) : socket)
    const guarded = socket instanceof TLSSocket ? handshakeOf(socket) : undefined
    this.handshake = guarded?.id
    this.tls = socket instanceof TLSSocket ? tlsFacts(socket, guarded) : undefined
  }
}

/** Returns the connection that a TLS connection is in, also where that is gone. Nothing but this private field leads to it. */
export function socketBelow(socket: TLSSocket): Socket | undefined {
  return (socket as { _parent?: Socket | null })._parent ?? undefined
}

function tlsFacts(socket: TLSSocket, guarded: GuardedHandshake | undefined): TlsFacts {
  const { alpnProtocol } = socket
  // Node reads freed memory for the protocol of a connection that has closed during its handshake: the process would crash.
  if (socket.destroyed) return { protocol: '', cipher: '', isResumed: false, applicationProtocol: '' }
  return {
    protocol: socket.getProtocol() ?? '',
    cipher: socket.getCipher()?.name ?? '',
    isResumed: socket.isSessionReused(),
    applicationProtocol: typeof alpnProtocol === 'string' ? alpnProtocol : '',
    ...(guarded !== undefined && { client: clientCertificateOf(socket, guarded) }),
  }
}
