import type { LocationSettings } from '@svc/config'
import type { Clock } from '@svc/core'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { ContentHandler } from '../vhost/content.ts'
import { type ContentHandlers, noHandlers } from '../vhost/index.ts'
import { UpstreamGroups } from './balance/upstream-groups.ts'
import { HttpConnections } from './http/http-connections.ts'
import { ProxyHandler } from './proxy/proxy-handler.ts'

/** Makes the content that upstreams have, for the locations of all generations. */
export class UpstreamContent {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #connections: HttpConnections
  #groups: UpstreamGroups | undefined

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
    this.#connections = new HttpConnections(clock)
  }

  /** Groups whose configuration is unchanged are taken over from the generation that was asked for before. */
  handlersFor(generation: ServingGeneration): ContentHandlers {
    const previous = this.#groups
    const onForgotten = (group: Parameters<HttpConnections['drop']>[0][number]) => this.#connections.drop([group])
    const groups = new UpstreamGroups(generation.spec.web.upstreams, { clock: this.#clock, onForgotten }, previous)
    this.#groups = groups
    if (previous !== undefined) this.#connections.drop(previous.leftBy(groups))
    return { make: (settings) => this.#make(settings, groups) }
  }

  #make(settings: LocationSettings, groups: UpstreamGroups): ContentHandler {
    const { content } = settings
    if (content.kind !== 'proxy') return noHandlers.make(settings)
    return new ProxyHandler(content, { groups, connections: this.#connections, cached: undefined })
  }
}
