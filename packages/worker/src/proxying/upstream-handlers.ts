import type { Config } from '@svc/config'
import type { Clock } from '@svc/core'
import { BodyBlocks } from '@svc/http'
import { HttpConnections, UpstreamGroups } from '@svc/upstream'
import type { LocationSettings } from '@svc/vhosts'
import { bodyDirectory } from '../generation/listen-addresses.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { WorkerProxyCache } from '../proxy-cache/index.ts'
import { type LocationHandlers, noHandlers } from '../vhost/index.ts'
import type { LocationHandler } from '../vhost/location-handler.ts'
import { FastcgiHandler } from './fastcgi-handler.ts'
import { ProxyHandler } from './proxy-handler.ts'

/** Makes the content that upstreams have, for the locations of all generations. */
export class UpstreamHandlers {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #connections: HttpConnections
  readonly #blocks = new BodyBlocks()
  readonly #proxyCache: Pick<WorkerProxyCache, 'locationCache'>
  #groups: UpstreamGroups | undefined

  constructor(clock: Pick<Clock, 'monotonic'>, proxyCache: Pick<WorkerProxyCache, 'locationCache'>) {
    this.#clock = clock
    this.#proxyCache = proxyCache
    this.#connections = new HttpConnections(clock)
  }

  /** Groups whose configuration is unchanged are reused from the generation that was requested before. */
  handlersFor(generation: ServingGeneration): LocationHandlers {
    const previous = this.#groups
    const onForgotten = (group: Parameters<HttpConnections['drop']>[0][number]) => this.#connections.drop([group])
    const groups = new UpstreamGroups(generation.spec.web.upstreams, { clock: this.#clock, onForgotten }, previous)
    this.#groups = groups
    if (previous !== undefined) this.#connections.drop(previous.leftBy(groups))
    return { make: (settings) => this.#make(settings, groups, generation.config) }
  }

  #make(settings: LocationSettings, groups: UpstreamGroups, config: Config): LocationHandler {
    const { content } = settings
    const spoolDir = bodyDirectory(config)
    const wanted = 'cache' in content ? content.cache : undefined
    const cache = wanted && this.#proxyCache.locationCache(config, wanted)
    const blocks = this.#blocks
    const tools = { groups, blocks, connections: this.#connections, cache }
    if (content.kind === 'proxy') return new ProxyHandler(content, tools)
    return content.kind === 'fastcgi' ? new FastcgiHandler(content, { ...tools, spoolDir }) : noHandlers.make(settings)
  }
}
