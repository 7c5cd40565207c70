import { type Config, workerCount } from '@svc/config'
import type { TurnClock } from '@svc/core'
import { BodyBlocks } from '@svc/http'
import { serverIds, type UpstreamReport } from '@svc/protocol'
import { HttpConnections, type UpstreamGroup, UpstreamGroups, type UpstreamSpec } from '@svc/upstream'
import type { UpstreamContent, UpstreamSpec as WebUpstream } from '@svc/vhosts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { bodyDirectory } from '../generation/worker-engine.ts'
import type { WorkerProxyCache } from '../proxy-cache/index.ts'
import type { LocationHandler, LocationHandlers } from '../vhost/location-handler.ts'
import { GatewayHandler } from './gateway-handler.ts'
import { ProxyHandler } from './proxy-handler.ts'
import { TlsContexts } from './upstream-tls.ts'

/** Groups in a report. */
const MAX_REPORTED = 1_000

function reportOf(group: UpstreamGroup): UpstreamReport['groups'][number] {
  const ids = serverIds(group.spec.servers)
  const servers = group.states().map(({ spec, isAvoided, active, fails }, index) => ({
    id: ids[index] ?? spec.address,
    address: spec.address,
    weight: spec.weight,
    is_backup: spec.isBackup,
    is_down: spec.isDown,
    avoided_by: isAvoided ? 1 : 0,
    in_flight: active,
    failures: fails,
  }))
  return { name: group.spec.name, balance: group.spec.balance, servers }
}

/** Divides the limits of a group with `zone`, which count for all workers together, among them. */
function sharedOut(spec: WebUpstream, workers: number): UpstreamSpec {
  if (spec.hasZone !== true || spec.servers.every(({ maxConns }) => maxConns === undefined)) return spec
  const servers = spec.servers.map((server) =>
    server.maxConns === undefined ? server : { ...server, maxConns: Math.max(1, Math.floor(server.maxConns / workers)) },
  )
  return { ...spec, servers }
}

/** Makes the handlers of locations that pass requests on to upstreams, for all generations. */
export class UpstreamHandlers {
  readonly #clock: Pick<TurnClock, 'monotonic' | 'turn'>
  readonly #connections: HttpConnections
  readonly #blocks = new BodyBlocks()
  readonly #proxyCache: Pick<WorkerProxyCache, 'locationCache'>
  readonly #prepared = new WeakMap<ServingGeneration, UpstreamGroups>()
  #inService: UpstreamGroups | undefined

  constructor(clock: Pick<TurnClock, 'monotonic' | 'turn'>, proxyCache: Pick<WorkerProxyCache, 'locationCache'>) {
    this.#clock = clock
    this.#proxyCache = proxyCache
    this.#connections = new HttpConnections(clock)
  }

  /** Prepares the upstreams of a generation. Groups whose configuration is unchanged are those of the generation in service. */
  prepare(generation: ServingGeneration): LocationHandlers {
    const onForgotten = (group: UpstreamGroup) => this.#connections.drop([group])
    const onGone = (group: UpstreamGroup, peers: Parameters<HttpConnections['dropPeers']>[1]) =>
      this.#connections.dropPeers(group, peers)
    const workers = workerCount(generation.config)
    const specs = generation.spec.web.upstreams.map((spec) => sharedOut(spec, workers))
    const groups = new UpstreamGroups(specs, { clock: this.#clock, onForgotten, onGone }, this.#inService)
    this.#prepared.set(generation, groups)
    const shared = { groups, tlsContexts: new TlsContexts() }
    return { make: (content) => this.#make(content, shared, generation.config) }
  }

  /** Puts a prepared generation in service: connections to servers that it does not have are dropped. */
  serve(generation: ServingGeneration): void {
    const previous = this.#inService
    this.#inService = this.#prepared.get(generation)
    if (previous !== undefined && this.#inService !== undefined) this.#connections.drop(previous.leftBy(this.#inService))
  }

  /** State of the upstreams of the generation in service. */
  report(): UpstreamReport {
    const groups = this.#inService?.all() ?? []
    return { groups: groups.slice(0, MAX_REPORTED).map(reportOf), is_cut: groups.length > MAX_REPORTED }
  }

  #make(
    content: UpstreamContent,
    shared: { readonly groups: UpstreamGroups; readonly tlsContexts: TlsContexts },
    config: Config,
  ): LocationHandler {
    const cache = content.cache && this.#proxyCache.locationCache(config, content.cache)
    const tools = { ...shared, blocks: this.#blocks, connections: this.#connections, cache }
    if (content.kind === 'proxy') return new ProxyHandler(content, tools)
    return new GatewayHandler(content, { ...tools, spoolDir: bodyDirectory(config) })
  }
}
