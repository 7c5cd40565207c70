import { entryOf, Pacer } from '@svc/core'
import { type HostMatchKind, parseHost } from '@svc/http'
import {
  type CaptureSink,
  type Captures,
  type ServerEntry,
  type ServerSpec,
  ServerTable,
  settingsOfServer,
  type WebSpec,
} from '@svc/vhosts'
import type { SiteRuntime } from './site-runtime.ts'

/** A server of a vhost file that a host led to, with the captures of its name. */
export interface VhostMatch {
  readonly server: ServerSpec
  readonly captures: Captures
  /** Named captures. */
  readonly names: ReadonlyMap<string, string>
}

/** The target of requests for a host. */
export interface HostRoute {
  /** undefined: a server of a vhost file that has none. */
  readonly site: SiteRuntime | undefined
  readonly vhost: VhostMatch | undefined
  readonly kind: HostMatchKind | 'pattern'
}

interface Entry {
  readonly site: SiteRuntime | undefined
  readonly server: ServerSpec | undefined
}

/** How many hosts of one address are remembered. */
const MAX_KNOWN_HOSTS = 1024

const noCaptures: Captures = []
const noNames: ReadonlyMap<string, string> = new Map()

/** Collects what the name of a server captures. */
class NameCaptures implements CaptureSink {
  captures: Captures = noCaptures
  readonly names = new Map<string, string>()

  setVariable(name: string, value: string): void {
    this.names.set(name, value)
  }
}

/** Ids of the sites that belong to servers of vhost files: they are not on every address. */
function sitesOfVhosts({ servers }: WebSpec): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const server of servers) {
    ids.add(server.site)
    for (const { content } of settingsOfServer(server)) if (content.kind === 'app') ids.add(content.site)
  }
  return ids
}

/**
 * Which server or site answers for a host on a listen address. Sites of the configuration file are on every address. The table
 * of an address that was not prepared is built on first use.
 */
export class HostRouting {
  readonly #web: WebSpec
  readonly #sites: ReadonlyMap<string, SiteRuntime>
  readonly #tables = new Map<string, ServerTable<Entry>>()
  /** Hosts are few, requests are many. By address. */
  readonly #known = new Map<string, Map<string, HostRoute | undefined>>()
  #everywhere: readonly ServerEntry<Entry>[] | undefined

  constructor(web: WebSpec, sites: ReadonlyMap<string, SiteRuntime>) {
    this.#web = web
    this.#sites = sites
  }

  /** @param host may have a port; "" without one. Undefined: the address serves nothing. */
  route(listener: string, host: string): HostRoute | undefined {
    const known = entryOf(this.#known, listener, () => new Map<string, HostRoute | undefined>())
    const found = known.get(host)
    if (found !== undefined) return found
    const route = this.#find(listener, host)
    if (known.size >= MAX_KNOWN_HOSTS) known.clear()
    known.set(host, route)
    return route
  }

  /** Builds the tables of these addresses. Does not hold up the process. */
  async prepare(listeners: readonly string[]): Promise<void> {
    const pacer = new Pacer()
    for (const listener of listeners) {
      this.#tableOf(listener)
      if (pacer.isDue) await pacer.rest()
    }
  }

  #find(listener: string, host: string): HostRoute | undefined {
    const sink = new NameCaptures()
    const match = this.#tableOf(listener).match(hostnameOf(host), sink)
    if (match === undefined) return undefined
    const { site, server } = match.value
    if (server === undefined) return { site, vhost: undefined, kind: match.kind }
    const names = sink.names.size === 0 ? noNames : sink.names
    return { site, vhost: { server, captures: sink.captures, names }, kind: match.kind }
  }

  #tableOf(listener: string): ServerTable<Entry> {
    return entryOf(this.#tables, listener, () => {
      this.#everywhere ??= this.#sitesEverywhere()
      return new ServerTable([...this.#serversOf(listener), ...this.#everywhere])
    })
  }

  #serversOf(listener: string): ServerEntry<Entry>[] {
    const entries: ServerEntry<Entry>[] = []
    for (const server of this.#web.servers) {
      const listen = server.listen.find(({ address }) => address === listener)
      if (listen === undefined) continue
      const value = { server, site: this.#sites.get(server.site) }
      const names = server.names.length === 0 ? [{ kind: 'name', name: '' } as const] : server.names
      entries.push({ names, isDefault: listen.isDefault, value })
    }
    return entries
  }

  #sitesEverywhere(): readonly ServerEntry<Entry>[] {
    const own = sitesOfVhosts(this.#web)
    return [...this.#sites.values()]
      .filter(({ config }) => !own.has(config.id))
      .map((site) => ({
        names: site.config.hostnames.map((name) => ({ kind: 'name', name }) as const),
        isDefault: site.config.any_host,
        value: { site, server: undefined },
      }))
  }
}

/** Host name of a host with or without port; "" (no Host, HTTP/1.0) matches no name but "". */
export function hostnameOf(host: string): string {
  const parsed = parseHost(host)
  return parsed === 'bad_host' ? '' : parsed.hostname
}
