import type { Config, SiteConfig } from '@svc/config'

/** Where a render host listens, and which sites it renders. */
export interface HostEndpoint {
  readonly id: string
  /** Path of its unix socket. */
  readonly socket: string
  /** Proves to the host that the worker belongs to this instance. */
  readonly token: string
  /** Site ids, or "*" for all sites that no other endpoint names. */
  readonly sites: readonly string[] | '*'
}

/** One configuration as every process serves it: a frozen value, numbered from 1. */
export interface GenerationSpec {
  readonly generation: number
  readonly config: Config
  readonly sites: readonly SiteConfig[]
  /** Absolute path of the directory for compiled modules. */
  readonly moduleDir: string
  /** Absolute addresses to listen on, ports resolved. */
  readonly listen: readonly ListenAddress[]
}

/** An address to listen on, as the configuration names it and as it is bound. */
export interface ListenAddress {
  /** As in the configuration, e.g. "127.0.0.1:0". */
  readonly name: string
  readonly host: string
  /** Real port, never 0. */
  readonly port: number
}
