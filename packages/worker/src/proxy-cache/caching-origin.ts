import type { Origin, OriginHandle, OriginRequest, OriginSink } from '@svc/upstream'
import type { CacheAsk, CacheClient } from './cache-ask.ts'
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

  fetch(request: OriginRequest, sink: OriginSink): OriginHandle {
    const client: CacheClient = {
      ask: this.#ask,
      request,
      sink,
      origin: this.#origin,
      rounds: 0,
      leave: () => undefined,
      isGone: false,
    }
    this.#cache.fetch(client)
    return {
      abort() {
        if (client.isGone) return
        client.isGone = true
        client.leave()
      },
    }
  }
}
