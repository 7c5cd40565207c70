import type { Config, EngineName, PluginSet, ServerSpec, SiteConfig, WebSpec } from '@svc/config'
import { Pacer } from '@svc/core'
import type { ListenAddress, ListenerTls } from '@svc/http'

export type { CertificateSpec, ListenAddress, ListenerTls } from '@svc/http'

/** The address of a render host, and the sites that it renders. */
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

/** A listen address with the engine that serves it. */
export interface ServedAddress extends ListenAddress {
  readonly engine: EngineName
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
  readonly listen: readonly ServedAddress[]
  /** Content of the vhost files. */
  readonly web: WebSpec
  /** Undefined: there is no `plugins.directory`. */
  readonly plugins?: PluginSet | undefined
  /** Certificates of the listen addresses that speak TLS, by the name of the address. */
  readonly tls: Readonly<Record<string, ListenerTls>>
}

/** The part of a generation that render hosts get. */
export interface HostSpec extends Pick<GenerationSpec, 'generation' | 'sites' | 'moduleDir' | 'loopToken' | 'listen'> {
  readonly config: Pick<Config, 'render' | 'cache' | 'scaling' | 'logging'>
}

/**
 * Returns the part of a generation for render hosts that run these sites: no section that may hold a secret, since code of a site
 * that escapes from its isolate can read all of their memory.
 */
export function hostSpecOf(spec: GenerationSpec, sites: readonly SiteConfig[]): HostSpec {
  const { generation, moduleDir, loopToken, listen } = spec
  const { render, cache, scaling, logging } = spec.config
  return { generation, moduleDir, loopToken, listen, sites, config: { render, cache, scaling, logging } }
}

/**
 * A generation as it goes to a worker. A thousand servers of vhost files are a hundred thousand small objects, which take half a
 * second to come out of a message, all at once; as texts they come at once and are read in slices.
 */
export interface PackedGeneration extends Omit<GenerationSpec, 'web'> {
  /** Everything but the servers. */
  readonly web: Omit<WebSpec, 'servers'>
  /** JSON, one text for each server. */
  readonly servers: readonly string[]
}

/** Packs a generation. Does not hold up the process. */
export async function packGeneration(spec: GenerationSpec): Promise<PackedGeneration> {
  const { servers, ...web } = spec.web
  const texts: string[] = []
  const pacer = new Pacer()
  for (const server of servers) {
    texts.push(JSON.stringify(server))
    if (pacer.isDue) await pacer.rest()
  }
  return { ...spec, web, servers: texts }
}

/** Servers of the generation that was unpacked last, by their texts. */
export type KnownServers = Map<string, ServerSpec>

/**
 * Unpacks a generation. Does not hold up the process. Servers that are `known` are the very same objects again, which makes
 * comparing two generations cheap; from then on those of this generation are known.
 */
export async function unpackGeneration(
  { servers: texts, web, ...rest }: PackedGeneration,
  known: KnownServers = new Map(),
): Promise<GenerationSpec> {
  const servers: ServerSpec[] = []
  const pacer = new Pacer()
  for (const text of texts) {
    // Written by `packGeneration`, on the other side of a channel that only the two of us have.
    servers.push(known.get(text) ?? (JSON.parse(text) as ServerSpec))
    if (pacer.isDue) await pacer.rest()
  }
  known.clear()
  for (const [index, server] of servers.entries()) known.set(texts[index] ?? '', server)
  return { ...rest, web: { servers, ...web } }
}
