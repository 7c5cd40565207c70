import type { Config, SiteConfig, WebSpec } from '@svc/config'

/** Where a render host listens, and which sites it renders. */
export interface HostEndpoint {
  readonly id: string
  /** Path of its unix socket. */
  readonly socket: string
  /** Proves to the host that the worker belongs to this instance. */
  readonly token: string
  /** Site ids, or "*" for all sites that no other endpoint names. */
  readonly sites: readonly string[] | '*'
  /**
   * Set for a host of the master that is absent: when the master starts it again, in ms since the epoch; 0: it is starting. An
   * absent host without it belongs to a unit, which starts it at a time that the master does not know.
   */
  readonly startsAt?: number
}

/** One configuration as every process serves it: a frozen value, numbered from 1. */
export interface GenerationSpec {
  readonly generation: number
  readonly config: Config
  readonly sites: readonly SiteConfig[]
  /** Absolute path of the directory for compiled modules. */
  readonly moduleDir: string
  /** Proves that a request was sent by this instance: see `LoopMark`. */
  readonly loopToken: string
  /** Absolute addresses to listen on, ports resolved. */
  readonly listen: readonly ListenAddress[]
  /** What the vhost files say. */
  readonly web: WebSpec
  /** Certificates of the listen addresses that speak TLS, by the name of the address. */
  readonly tls: Readonly<Record<string, ListenerTls>>
}

/** What of a generation a render host is told. */
export interface HostSpec extends Pick<GenerationSpec, 'generation' | 'sites' | 'moduleDir' | 'loopToken' | 'listen'> {
  readonly config: Pick<Config, 'render' | 'cache' | 'scaling' | 'logging'>
}

/** A certificate with its key, as checked copies that no renewal changes. */
export interface CertificateSpec {
  /** Digest of chain and key: the same id is the same certificate. */
  readonly id: string
  /** Absolute paths of PEM files. */
  readonly certFile: string
  readonly keyFile: string
  /** What people know it by: the file of which it is a copy, and where that is named. For messages alone. */
  readonly title: string
}

/** How a listen address speaks TLS. */
export interface ListenerTls {
  readonly certificates: readonly CertificateSpec[]
  /** Which certificate a server name gets: exact names and `*.suffix`, lower case. */
  readonly names: readonly (readonly [name: string, certificate: string])[]
  /** Id of the certificate for all other names, and for clients that name none. */
  readonly fallback: string
  readonly minVersion: '1.2' | '1.3'
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
  /** Whether connections speak TLS; `GenerationSpec.tls` has the certificates. */
  readonly isTls?: boolean | undefined
}
