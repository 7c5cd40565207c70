import { withoutSessionCookie } from '@svc/auth'
import type { HeaderList } from '@svc/http'
import type { PluginHeaders, PluginRequest } from '@svc/site/types/plugin'
import type { RequestContext } from '../request/request-context.ts'
import { absoluteUrl } from '../request/site-request.ts'

/** Fields as a plugin reads them. */
class HeaderView implements PluginHeaders {
  readonly #list: () => HeaderList

  constructor(list: () => HeaderList) {
    this.#list = list
    Object.freeze(this)
  }

  get(name: string): string | undefined {
    const wanted = String(name).toLowerCase()
    return this.#list().find(([known]) => known === wanted)?.[1]
  }

  getAll(name: string): readonly string[] {
    const wanted = String(name).toLowerCase()
    return this.#list().flatMap(([known, value]) => (known === wanted ? [value] : []))
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  [Symbol.iterator](): Iterator<readonly [string, string]> {
    return this.#list().values()
  }
}

/** The fields of a response, with names in lower case. */
export function responseFields(headers: HeaderList): HeaderView {
  const lower = headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  return new HeaderView(() => lower)
}

/** The fields of a request without the cookie of administrators. */
function visibleFields(headers: HeaderList): HeaderList {
  return headers.flatMap(([name, value]) => {
    const kept = name === 'cookie' ? withoutSessionCookie(value) : value
    return kept === undefined ? [] : [[name, kept] as const]
  })
}

/** A request as plugins see it at one moment: what follows may change it. Keeps no more of the exchange than it was asked for. */
export function requestView(context: RequestContext): PluginRequest {
  const { request, client, exchange } = context
  let fields: HeaderList | undefined
  const site = context.site?.config.id ?? context.vhost?.server.site
  return Object.freeze({
    get id() {
      return context.requestId
    },
    method: request.method,
    get url() {
      return absoluteUrl({ request, client })
    },
    path: request.path,
    query: request.query,
    host: client.host,
    scheme: client.scheme,
    client: client.address,
    headers: new HeaderView(() => {
      fields ??= visibleFields(request.headers)
      return fields
    }),
    isWebSocket: exchange.webSocket !== undefined,
    site: site === '' ? undefined : site,
  })
}
