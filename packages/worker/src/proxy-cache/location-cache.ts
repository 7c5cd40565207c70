import { type ProxyAddress, varyFields } from '@svc/cache'
import { cacheStatus, type HeaderList, type ResponseSink } from '@svc/http'
import type { Origin, OriginRequest } from '@svc/upstream'
import type { CacheSpec, Template } from '@svc/vhosts'
import type { LocationExchange } from '../vhost/location-handler.ts'
import {
  CacheClient,
  type CacheContext,
  type CacheRules,
  type CacheWord,
  type OfferedFacts,
  type ProxyStatus,
} from './cache-client.ts'
import type { ProxyCache } from './proxy-cache.ts'

/** The cache of an upstream without directives about it: the rules of RFC 9111, and a stale response when it is down. */
export const plainCache: CacheSpec = {
  zone: '',
  valid: [],
  useStale: ['error', 'timeout'],
  bypass: [],
  noCache: [],
  ignoredFields: [],
}

/** The cache of a location (`proxy_cache`, `fastcgi_cache`) or of a route rule. */
export class LocationCache {
  readonly #spec: CacheSpec
  readonly #parts: LocationParts
  readonly #key: Template | undefined

  constructor(spec: CacheSpec, cache: ProxyCache) {
    this.#spec = spec
    // HEAD is answered from the response to GET.
    this.#key = spec.key?.filter((piece) => typeof piece === 'string' || piece.variable !== 'request_method')
    const { valid } = spec
    const rules: CacheRules = {
      minUses: spec.minUses ?? 1,
      isRefreshedBehind: spec.isRefreshedBehind === true,
      useStale: new Set(spec.useStale),
      ignoredFields: new Set(spec.ignoredFields),
      validSeconds: (status) =>
        (
          valid.find(({ statuses }) => statuses !== 'any' && statuses.includes(status)) ??
          valid.find(({ statuses }) => statuses === 'any')
        )?.seconds,
    }
    this.#parts = { cache, rules, statuses: new StatusTexts() }
  }

  /**
   * Puts the cache in front of an origin for one request, unless no layer may store its response.
   * @param place names the upstream: the responses of several are kept apart
   */
  originFor(visit: LocationExchange, origin: Origin, request: OriginRequest, place: string): Origin {
    const { bypass, noCache, zone } = this.#spec
    const key = this.#key
    const { cache, statuses } = this.#parts
    const { client, site, exchange, isChangedByPlugin } = visit.context
    if (isChangedByPlugin) {
      visit.context.cacheStatus = statuses.of({ outcome: 'bypass', detail: 'plugin' })
      return origin
    }
    const { path, query, host, target } = exchange.request
    const address = cache.addresses.of({
      scheme: client.scheme,
      clientHost: client.host,
      host,
      path,
      query,
      target,
      sent: request.target,
      label: site?.config.label ?? '',
      zone,
      place,
      ...(key !== undefined && { key: visit.text(key) }),
    })
    if (address === undefined) {
      visit.context.cacheStatus = statuses.of({ outcome: 'bypass', detail: 'path' })
      return origin
    }
    // Directives that turn the use of stored responses off do the same for L0.
    const isBypassed = bypass.length > 0 && isAnySet(bypass, (template) => visit.text(template))
    const mustNotStore = noCache.length > 0 && isAnySet(noCache, (template) => visit.requestText(template))
    const context = new LocationRequest(visit, this.#parts, address, { isBypassed, mustNotStore })
    return new CachingOrigin(cache, origin, context)
  }
}

/** Shared by the requests of a location. */
interface LocationParts {
  readonly cache: ProxyCache
  readonly rules: CacheRules
  readonly statuses: StatusTexts
}

/** A request of a location, for the cache. A class, because one is made for each hit. */
class LocationRequest implements CacheContext {
  readonly address: ProxyAddress
  readonly rules: CacheRules
  readonly isBypassed: boolean
  readonly mustNotStore: boolean
  readonly #visit: LocationExchange
  readonly #parts: LocationParts

  constructor(
    visit: LocationExchange,
    parts: LocationParts,
    address: ProxyAddress,
    { isBypassed, mustNotStore }: Pick<CacheContext, 'isBypassed' | 'mustNotStore'>,
  ) {
    this.#visit = visit
    this.#parts = parts
    this.address = address
    this.rules = parts.rules
    this.isBypassed = isBypassed
    this.mustNotStore = mustNotStore
  }

  report(status: ProxyStatus, word: CacheWord): void {
    this.#visit.noteCache(word)
    this.#visit.context.cacheStatus = this.#parts.statuses.of(status)
  }

  offer({ createdAt, ttlMs, label, path, tags, seq, headers }: OfferedFacts, key: string): void {
    // L0 sees the outgoing head, and the location may hide Vary.
    const { context } = this.#visit
    if (!context.mayEnterL0 || !isForEveryCoding(headers)) return
    const { cache } = this.#parts
    context.offerToL0({
      expiresAt: createdAt + (ttlMs ?? 0),
      label,
      path,
      tags,
      seq,
      dependsOnCookies: false,
      keepsLifetime: true,
      isCurrent: () => cache.touch(key),
    })
  }
}

/** The cache in front of an origin, for one request. */
export class CachingOrigin implements Origin {
  readonly #cache: ProxyCache
  readonly #origin: Origin
  readonly #context: CacheContext

  constructor(cache: ProxyCache, origin: Origin, context: CacheContext) {
    this.#cache = cache
    this.#origin = origin
    this.#context = context
  }

  fetch(request: OriginRequest, sink: ResponseSink): void {
    const client = new CacheClient(this.#context, request, sink, this.#origin)
    sink.attach(client)
    if (!client.isGone) this.#cache.fetch(client)
  }
}

/** True if a response depends on no field of its request but Accept-Encoding, whose classes L0 keeps apart. */
function isForEveryCoding(headers: HeaderList): boolean {
  const fields = varyFields(headers)
  return fields !== '*' && fields.every((name) => name === 'accept-encoding')
}

/** Writes the member of this cache in the Cache-Status field. That of a hit changes once a second: the last one is kept. */
class StatusTexts {
  #hitSeconds: number | undefined
  #hit = ''

  of(status: ProxyStatus): string {
    const { outcome, ttlSeconds } = status
    if (outcome !== 'hit' || ttlSeconds === undefined) return cacheStatus({ cache: 'svc-proxy', ...status })
    const seconds = Math.trunc(ttlSeconds)
    if (seconds !== this.#hitSeconds) {
      this.#hitSeconds = seconds
      this.#hit = cacheStatus({ cache: 'svc-proxy', outcome, ttlSeconds: seconds })
    }
    return this.#hit
  }
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
