import { storablePath } from '@svc/cache'
import { parseHost } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import type { Route } from '@svc/site'
import type { HostBinding, PageAddress } from '../../isr/page-address.ts'
import { type BackgroundRender, type IsrSettings, type PageRequest, settingsOf } from '../../isr/page-request.ts'
import type { RequestContext } from '../../request/request-context.ts'
import type { AppExchange } from './app-exchange.ts'
import { type RenderPlan, renderRequestOf } from './app-exchange.ts'

const STORED_METHODS = new Set(['GET', 'HEAD'])

/** Handles a request that the cache did not answer. */
interface PageExits {
  matchAgain(): void
  fail(error: Error): void
}

/** Makes the request of a page as the cache sees it; undefined when no response to it may be stored. */
export function pageRequestOf(
  exchange: AppExchange,
  plan: RenderPlan,
  route: Route | undefined,
  exits: PageExits,
): PageRequest | undefined {
  const { context, site, target } = exchange
  const { method } = context.request
  if (!STORED_METHODS.has(method) || context.exchange.body.isPresent || site.isRetired) return undefined
  return storablePath(target.path) === undefined ? undefined : new AppPageRequest(exchange, plan, route?.pattern ?? '', exits)
}

/** A request for a page of a site, as the cache sees it. */
class AppPageRequest implements PageRequest {
  readonly context: RequestContext
  readonly address: PageAddress
  readonly #exchange: AppExchange
  readonly #plan: RenderPlan
  readonly #exits: PageExits

  constructor(exchange: AppExchange, plan: RenderPlan, pattern: string, exits: PageExits) {
    this.context = exchange.context
    this.#exchange = exchange
    this.#plan = plan
    this.#exits = exits
    this.address = addressOf(exchange, plan, pattern)
  }

  get settings(): IsrSettings {
    return settingsOf(this.context.generation.config)
  }

  requestFor(use: 'own' | 'shared'): RenderRequest {
    const request = renderRequestOf(this.#exchange, this.#plan)
    return use === 'shared' ? { ...request, method: 'GET' } : request
  }

  background(): BackgroundRender {
    const { address, settings } = this
    const { site } = this.#exchange
    const request = renderRequestOf({ ...this.#exchange, target: { ...this.#exchange.target, headers: [] } }, this.#plan)
    const headers: [string, string][] = [['host', this.context.client.host]]
    return {
      address,
      settings,
      request: { ...request, method: 'GET', headers, remoteAddress: '', mayStream: false },
      mayBeKept: () => !site.isRetired,
      onOutdated: () => site.forget(),
    }
  }

  isOutdated(): boolean {
    const { site, app } = this.#exchange
    return site.isRetired || site.knownApp !== app
  }

  matchAgain(): void {
    this.#exits.matchAgain()
  }

  fail(error: Error): void {
    this.#exits.fail(error)
  }
}

function addressOf({ context, site, target }: AppExchange, plan: RenderPlan, pattern: string): PageAddress {
  const { client, request } = context
  const url = target.url === undefined ? undefined : new URL(target.url)
  const host = parseHost(client.host)
  const parsed = host === 'bad_host' ? { hostname: '', port: undefined } : host
  return {
    label: site.config.label,
    path: target.path,
    query: url === undefined ? request.query : url.search.slice(1),
    origin: url === undefined ? `${client.scheme}://${client.host}` : url.origin,
    hostname: parsed.hostname,
    binding: bindingOf(context, parsed.port),
    kind: plan.kind,
    pattern,
  }
}

function bindingOf({ client, generation }: RequestContext, port: number | undefined): HostBinding {
  const kind = generation.matchHost(client.host)?.kind ?? 'default'
  if (kind === 'default') return 'unknown'
  const isOwnPort = port === undefined || generation.spec.listen.some((address) => address.port === port)
  return kind === 'exact' && isOwnPort ? 'own' : 'open'
}
