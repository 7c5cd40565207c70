import type { Config, SiteConfig, WebSpec } from '@svc/config'
import type { ListenAddress, ListenerTls } from '@svc/http'

export type { CertificateSpec, ListenAddress, ListenerTls } from '@svc/http'

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
  /** Content of the vhost files. */
  readonly web: WebSpec
  /** Certificates of the listen addresses that speak TLS, by the name of the address. */
  readonly tls: Readonly<Record<string, ListenerTls>>
}

/** The part of a generation that render hosts get. */
export interface HostSpec extends Pick<GenerationSpec, 'generation' | 'sites' | 'moduleDir' | 'loopToken' | 'listen'> {
  readonly config: Pick<Config, 'render' | 'cache' | 'scaling' | 'logging'>
}
