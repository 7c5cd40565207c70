/** A chain and its key, as checked copies that no renewal changes: absolute paths of PEM files. */
interface CertificatePair {
  readonly certFile: string
  readonly keyFile: string
}

/** How clients are asked for a certificate. Nothing is refused in the handshake: who serves a request decides. */
export interface ClientAuthorities {
  /** In PEM form; "": none. */
  readonly authorities: string
  /** Lists of revoked certificates in PEM form. */
  readonly crl: string | undefined
  /** Most certificates between that of a client and its authority. */
  readonly depth: number
}

/** A certificate with its key, and how it is used. */
export interface CertificateSpec extends CertificatePair {
  /** Digest of all of it: the same id is the same certificate, used in the same way. */
  readonly id: string
  /** Of keys of other kinds, for the same names. Engine "uws" has none. */
  readonly others?: readonly CertificatePair[]
  /** Ciphers of TLS 1.2, in the words of OpenSSL. @default those of the engine */
  readonly ciphers?: string | undefined
  /** Undefined: clients are not asked for a certificate. Engine "node" alone. */
  readonly clients?: ClientAuthorities | undefined
  /** The name people know it by: the source file and where it is configured. For messages only. */
  readonly title: string
}

/** In place of a certificate: handshakes are rejected. Engine "node" alone. */
export const REJECTED = 'rejected'

/** How a listen address speaks TLS. */
export interface ListenerTls {
  readonly certificates: readonly CertificateSpec[]
  /** The certificate of a server name, or `REJECTED`: exact names and `*.suffix`, lower case. */
  readonly names: readonly (readonly [name: string, certificate: string])[]
  /** Id of the certificate for all other names, and for clients that name none, or `REJECTED`. */
  readonly fallback: string
  readonly minVersion: '1.2' | '1.3'
  /** True if a server has a page for requests that come without TLS: they are requests like others. Engine "node" alone. */
  readonly takesPlain?: boolean
}

/** An address to listen on, as the configuration names it and as it is bound. */
export interface ListenAddress {
  /** As in the configuration, e.g. "127.0.0.1:0". */
  readonly name: string
  readonly host: string
  /** Real port, never 0. Without meaning for a unix socket. */
  readonly port: number
  /** Path of a unix socket, in place of host and port. */
  readonly socket?: string | undefined
  /** Descriptor, in every worker, of a listening socket that the service manager keeps open over restarts. */
  readonly fd?: number | undefined
  /** True if connections speak TLS; the certificates come separately, by `name`. */
  readonly isTls?: boolean | undefined
  /** True if connections begin with a header of the PROXY protocol. Engine "node" alone. */
  readonly isProxied?: boolean | undefined
}
