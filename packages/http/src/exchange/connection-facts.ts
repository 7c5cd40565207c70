/** The certificate of a client, and how it was found. */
export interface ClientCertificate {
  /** "SUCCESS", or "FAILED:" and the reason of OpenSSL. */
  readonly verify: string
  /** True if nothing but its authority is unknown. */
  readonly isOfUnknownAuthority: boolean
  /** Of the certificate: in PEM form; names as lines of "type=value"; the rest as OpenSSL writes it. */
  readonly pem: string
  readonly subject: string
  readonly issuer: string
  readonly serial: string
  /** SHA-1, "AA:BB:...". */
  readonly fingerprint: string
  readonly validFrom: string
  readonly validTo: string
}

/** The TLS session of a connection. */
export interface TlsFacts {
  /** "TLSv1.3". */
  readonly protocol: string
  /** As OpenSSL calls it. */
  readonly cipher: string
  readonly isResumed: boolean
  /** Protocol that the client and this server agreed on (ALPN); "" for none. */
  readonly applicationProtocol: string
  /** Undefined: the client has sent none, or was not asked for one. */
  readonly client?: ClientCertificate | undefined
}

/** The peer of a proxy, and the address that it connected to, as the proxy said in a header of the PROXY protocol. */
export interface ProxiedPeer {
  /** Canonical form. */
  readonly address: string
  readonly port: number
  readonly serverAddress: string
  readonly serverPort: number
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
  /** Undefined: no header of the PROXY protocol came before. A proxy may also leave its peer unnamed. */
  readonly proxied?: ProxiedPeer | 'unnamed' | undefined
}
