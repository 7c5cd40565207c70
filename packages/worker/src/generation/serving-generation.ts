import { isDeepStrictEqual } from 'node:util'
import { EndpointTable, endpointSettings, listEndpoints } from '@svc/admin'
import { adminHosts } from '@svc/auth'
import { addressOfListenName, type Config, type SiteConfig } from '@svc/config'
import { ServerNames } from '@svc/engine'
import { CidrSet, type HostMatch, HostMatcher, parseHost } from '@svc/http'
import type { GenerationSpec } from '@svc/protocol'
import { EARLY_FAULTS, hasEarlyPage, settingsOfServer } from '@svc/vhosts'
import { Authenticator } from '../access/authenticator.ts'
import type { Renderer } from '../render-client/renderer.ts'
import { type Affinity, affinityOf } from './affinity.ts'
import { type HostRoute, HostRouting, hostnameOf } from './host-routing.ts'
import { SiteRuntime } from './site-runtime.ts'

/** One generation as this worker serves it. Frozen; a request keeps the one it began with. */
export interface ServingGeneration {
  readonly number: number
  readonly spec: GenerationSpec
  readonly config: Config
  readonly sites: ReadonlyMap<string, SiteRuntime>
  /** The site of a host, which may have a port; a host that no site claims goes to the first one. Undefined without any site. */
  siteOf(host: string): SiteRuntime | undefined
  /** The same, with how the host led there. */
  matchHost(host: string): HostMatch<SiteRuntime> | undefined
  /** True if there are servers of vhost files. Without them all addresses serve the same. */
  readonly hasVhosts: boolean
  /** TLS addresses, if a server has a page for requests that come to them without TLS; else none. */
  readonly plainOnTls: ReadonlySet<string>
  /** False if a server of a vhost file keeps repeated slashes of paths. */
  readonly alwaysMergesSlashes: boolean
  /** Target of requests for a host on a listen address; undefined when nothing is served there. */
  route(listener: string, host: string): HostRoute | undefined
  /** Builds the tables of `route` for all listen addresses. Does not block the process. */
  prepareRoutes(): Promise<void>
  /** Largest request body that any part accepts; parts that accept less limit it themselves. */
  readonly maxBodyBytes: number
  readonly endpoints: EndpointTable
  readonly authenticator: Authenticator
  /** Returns true for a Host field of the panel, where session cookies count. */
  isAdminHost(host: string): boolean
  readonly trustedProxies: CidrSet
  readonly secureHosts: SecureHosts
  /** Field of every response over https, if there is one. */
  readonly strictTransport: readonly [name: string, value: string] | undefined
  /** The cookie of `scaling.session_affinity`, if it is wanted. */
  readonly affinity: Affinity | undefined
}

/** Dependencies of a generation. */
interface GenerationTools {
  readonly renderer: Renderer
  readonly onProblem: (error: Error) => void
}

function buildSites(
  configs: readonly SiteConfig[],
  previous: ServingGeneration | undefined,
  tools: GenerationTools,
): Map<string, SiteRuntime> {
  const sites = new Map<string, SiteRuntime>()
  for (const config of configs) {
    const known = previous?.sites.get(config.id)
    const isSame = known !== undefined && isDeepStrictEqual(known.config, config)
    sites.set(config.id, isSame ? known : new SiteRuntime(config, tools.renderer, tools.onProblem))
  }
  return sites
}

/** Tells the sites that a new generation does not take over. */
export function retireSites(previous: ServingGeneration | undefined, next: ServingGeneration): void {
  for (const [id, site] of previous?.sites ?? []) if (next.sites.get(id) !== site) site.retire()
}

/**
 * `client_max_body_size` may allow more than the configuration does. Where a page is shown for bodies that are too large, the engine lets
 * everything through: it knows no pages, and the handler applies the limit of its location.
 */
function largestBody({ web, config }: GenerationSpec): number {
  let largest = config.server.max_body_bytes
  for (const server of web.servers) {
    for (const { maxBodyBytes, errorPages } of settingsOfServer(server)) {
      const showsTooLarge = errorPages.some(({ statuses }) => statuses.includes(413))
      if (maxBodyBytes === 0 || showsTooLarge) return Number.POSITIVE_INFINITY
      largest = Math.max(largest, maxBodyBytes ?? 0)
    }
  }
  return largest
}

function plainOnTls({ web, listen }: GenerationSpec): ReadonlySet<string> {
  const isShown = web.servers.some((server) => hasEarlyPage(server, EARLY_FAULTS.plainHttp))
  return new Set(isShown ? listen.filter(({ isTls }) => isTls === true).map(({ name }) => name) : [])
}

/** RFC 6797 section 6.1. */
function strictTransportOf({ tls }: Config): ServingGeneration['strictTransport'] {
  const seconds = tls.hsts_max_age_secs
  return seconds === 0 ? undefined : Object.freeze(['strict-transport-security', `max-age=${seconds}`] as const)
}

/** Builds a generation beside the current one. Sites whose configuration is unchanged keep what they have. */
export function buildGeneration(
  spec: GenerationSpec,
  previous: ServingGeneration | undefined,
  tools: GenerationTools,
): ServingGeneration {
  const { config } = spec
  const sites = buildSites(spec.sites, previous, tools)
  const entries = [...sites.values()].map((site) => ({
    hostnames: site.config.hostnames,
    isDefault: site.config.any_host,
    value: site,
  }))
  const hosts = new HostMatcher(entries)
  const hasVhosts = spec.web.servers.length > 0
  const isSiteHost = (hostname: string) => {
    const match = hosts.match(hostname)
    return match !== undefined && match.kind !== 'default'
  }
  const routing = new HostRouting(spec.web, sites)
  return Object.freeze({
    number: spec.generation,
    spec,
    config,
    sites,
    siteOf: (host: string) => hosts.match(hostnameOf(host))?.value,
    matchHost: (host: string) => hosts.match(hostnameOf(host)),
    hasVhosts,
    plainOnTls: plainOnTls(spec),
    alwaysMergesSlashes: spec.web.servers.every(({ mergesSlashes }) => mergesSlashes),
    route: (listener: string, host: string) => routing.route(listener, host),
    prepareRoutes: () => routing.prepare(spec.listen.map(({ name }) => name)),
    maxBodyBytes: hasVhosts ? largestBody(spec) : config.server.max_body_bytes,
    endpoints: new EndpointTable(listEndpoints(endpointSettings(config))),
    authenticator: new Authenticator(config.admin),
    isAdminHost: adminHosts({ hosts: config.admin.hosts, isSiteHost }),
    trustedProxies: new CidrSet(config.server.trusted_proxies),
    secureHosts: new SecureHosts(spec),
    strictTransport: strictTransportOf(config),
    affinity: affinityOf(config),
  })
}

const HTTPS_PORT = 443

interface SecureAddress {
  readonly names: ServerNames
  readonly port: number
}

/** Which hosts have a certificate, and where they are served with it. */
class SecureHosts {
  readonly #addresses: readonly SecureAddress[]

  constructor({ listen, tls, config }: Pick<GenerationSpec, 'listen' | 'tls' | 'config'>) {
    const own = config.server.listen_tls
    const isOwn = ({ name }: { readonly name: string }) => addressOfListenName(name) === own
    const inOrder = [...listen].sort((one, other) => Number(isOwn(other)) - Number(isOwn(one)))
    this.#addresses = inOrder.flatMap(({ name, port, socket }) => {
      const names = tls[name]
      return names === undefined || socket !== undefined ? [] : [{ names: new ServerNames(names), port }]
    })
  }

  /** The origin with https of a host that has a certificate. `host` may have a port, which is that of plain HTTP. */
  originOf(host: string): string | undefined {
    const parsed = parseHost(host)
    if (parsed === 'bad_host') return undefined
    const { hostname } = parsed
    const address = this.#addresses.find(({ names }) => names.find(hostname) !== undefined)
    if (address === undefined) return undefined
    return address.port === HTTPS_PORT ? `https://${hostname}` : `https://${hostname}:${address.port}`
  }
}

/** The names that have certificates, whatever those are. */
export function secureNames({ tls }: Pick<GenerationSpec, 'tls'>): unknown {
  return Object.entries(tls).map(([address, { names }]) => [address, names.map(([name]) => name)])
}
