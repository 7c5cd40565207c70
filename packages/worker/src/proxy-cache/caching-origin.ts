import type { ResponseSink } from '@svc/http'
import type { Origin, OriginRequest } from '@svc/upstream'
import { type CacheAsk, CacheClient } from './cache-ask.ts'
import type { ProxyCache } from './proxy-cache.ts'

/** The cache in front of an origin, for one request. */
export class CachingOrigin implements Origin {
  readonly #cache: ProxyCache
  readonly #origin: Origin
  readonly #ask: CacheAsk

  constructor(cache: ProxyCache, origin: Origin, ask: CacheAsk) {
    this.#cache = cache
    this.#origin = origin
    this.#ask = ask
  }

  fetch(request: OriginRequest, sink: ResponseSink): void {
    const client = new CacheClient(this.#ask, request, sink, this.#origin)
    sink.attach(client)
    if (!client.isGone) this.#cache.fetch(client)
  }
}
