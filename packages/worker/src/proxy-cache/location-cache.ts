import { type ProxyAddress, varyFields } from '@svc/cache'
import { cacheStatus, type HeaderList } from '@svc/http'
import type { Origin, OriginRequest } from '@svc/upstream'
import type { CacheSpec, Template } from '@svc/vhosts'
import type { LocationExchange } from '../vhost/location-handler.ts'
import type { CacheAsk, CacheRules } from './cache-ask.ts'
import { CachingOrigin } from './caching-origin.ts'
import type { ProxyCache } from './proxy-cache.ts'

/** The cache of an upstream whose location says nothing of it: what RFC 9111 says, and a stale answer when it is down. */
export const plainCache: CacheSpec = { zone: '', valid: [], useStale: ['error', 'timeout'], bypass: [], noCache: [] }

/** The cache of a location (`proxy_cache`, `fastcgi_cache`) or of a route rule. */
export class LocationCache {
  readonly #spec: CacheSpec
  readonly #cache: ProxyCache
  readonly #rules: CacheRules

  constructor(spec: CacheSpec, cache: ProxyCache) {
    this.#spec = spec
    this.#cache = cache
    const { valid } = spec
    this.#rules = {
      useStale: new Set(spec.useStale),
      validSeconds: (status) =>
        (
          valid.find(({ statuses }) => statuses !== 'any' && statuses.includes(status)) ??
          valid.find(({ statuses }) => statuses === 'any')
        )?.seconds,
    }
  }

  /**
   * Puts the cache in front of an origin for one request, unless no layer may store what it is about.
   * @param place names the upstream: what several say is kept apart
   */
  originFor(visit: LocationExchange, origin: Origin, request: OriginRequest, place: string): Origin {
    const { client, site, exchange } = visit.context
    const { path, query, host, target } = exchange.request
    const address = this.#cache.addresses.of({
      scheme: client.scheme,
      clientHost: client.host,
      host,
      path,
      query,
      target,
      sent: request.target,
      label: site?.config.label ?? '',
      zone: this.#spec.zone,
      place,
    })
    if (address === undefined) {
      visit.context.cacheStatus = proxyStatus({ outcome: 'bypass', detail: 'path' })
      return origin
    }
    return new CachingOrigin(this.#cache, origin, this.#askOf(visit, address))
  }

  #askOf(visit: LocationExchange, address: ProxyAddress): CacheAsk {
    const { context } = visit
    const cache = this.#cache
    return {
      address,
      rules: this.#rules,
      // What decides that nothing stored is used decides the same for L0.
      isBypassed: isAnySet(this.#spec.bypass, (template) => visit.text(template)),
      isUnkept: isAnySet(this.#spec.noCache, (template) => visit.requestText(template)),
      report(status) {
        context.cacheStatus = proxyStatus(status)
      },
      offer({ createdAt, ttlMs, label, path, tags, seq, headers }, key) {
        // L0 sees what goes out, and the location may hide Vary.
        if (!isForEveryCoding(headers)) return
        const expiresAt = createdAt + (ttlMs ?? 0)
        context.offerToL0({
          expiresAt,
          label,
          path,
          tags,
          seq,
          dependsOnCookies: false,
          keepsLifetime: true,
          isCurrent: () => cache.isKept(key),
        })
      },
    }
  }
}

/** Whether an answer depends on no field of its request but the codings that are wanted, which L0 keeps apart. */
function isForEveryCoding(headers: HeaderList): boolean {
  const fields = varyFields(headers)
  return fields !== '*' && fields.every((name) => name === 'accept-encoding')
}

/** The member of this cache in the Cache-Status field. */
function proxyStatus(status: Parameters<CacheAsk['report']>[0]): string {
  return cacheStatus({ cache: 'svc-proxy', ...status })
}

/** As with nginx: a value that is neither empty nor "0". */
function isAnySet(templates: readonly Template[], read: (template: Template) => string): boolean {
  let isSet = false
  for (const template of templates) {
    const value = read(template)
    if (value !== '' && value !== '0') isSet = true
  }
  return isSet
}
