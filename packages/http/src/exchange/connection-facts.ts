/** The TLS session of a connection. */
export interface TlsFacts {
  /** "TLSv1.3". */
  readonly protocol: string
  /** As OpenSSL calls it. */
  readonly cipher: string
  readonly isResumed: boolean
  /** Protocol that the client and this server agreed on (ALPN); "" for none. */
  readonly applicationProtocol: string
}

/** Facts of the connection that a request came by. */
export interface ConnectionFacts {
  /** Number of the connection, from 1, unique in its process. */
  readonly number: number
  /** Milliseconds of the monotonic clock. */
  readonly openedAt: number
  /** Port of the client; undefined for a unix socket. */
  readonly peerPort: number | undefined
  /** Address of this machine that the client connected to; "" for a unix socket. */
  readonly ownAddress: string
  /** Undefined: it is not encrypted. */
  readonly tls: TlsFacts | undefined
}
