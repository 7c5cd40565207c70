import { storablePath } from '@svc/cache'
import type { Config } from '@svc/config'
import { parseHost } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import type { RequestContext } from '../request/request-context.ts'
import { type RenderPlan, renderRequestOf, type SiteRequest } from '../request/site-request.ts'
import type { HostBinding, PageAddress } from './page-address.ts'
import type { DefaultLifetime } from './page-entries.ts'

const MAX_STORED_BYTES = 16 * 1024 * 1024
/** No response takes a larger part of the store than this. */
const MAX_SHARE = 0.25

/** The settings that a request for a page is answered by. */
interface IsrSettings extends DefaultLifetime {
  /** How long a request waits for the render of another. */
  readonly waitMs: number
  /** A larger response is not stored. */
  readonly maxBodyBytes: number
}

/** A render that no client waits for. */
export interface BackgroundRender {
  readonly address: PageAddress
  readonly settings: IsrSettings
  /** Knows of no client. */
  readonly request: RenderRequest
  /** True if the configuration that it started with is still in service. */
  isInService(): boolean
  /** The site has changed since the request was made. */
  onOutdated(): void
}

/** Ways out for a request that the cache does not answer. */
interface PageExits {
  /** Matches the route again with the present site, and answers the request. */
  matchAgain(): void
  /** Answers the request with a failure; nothing was sent yet. */
  fail(error: Error): void
}

/** True if a response to this request may be stored. */
export function mayBeStored({ context, site, target }: SiteRequest): boolean {
  const { method } = context.request
  if ((method !== 'GET' && method !== 'HEAD') || context.exchange.body.isPresent || site.isRetired) return false
  return storablePath(target.path) !== undefined
}

/** A request for a page whose response may be stored. */
export class PageRequest {
  readonly address: PageAddress
  readonly exits: PageExits
  readonly #request: SiteRequest
  readonly #plan: RenderPlan

  /** @param pattern of the route, "" where none matched */
  constructor(request: SiteRequest, plan: RenderPlan, pattern: string, exits: PageExits) {
    this.address = addressOf(request, plan, pattern)
    this.exits = exits
    this.#request = request
    this.#plan = plan
  }

  get context(): RequestContext {
    return this.#request.context
  }

  get settings(): IsrSettings {
    return settingsOf(this.context.generation.config)
  }

  /** `shared`: for this client and others, which may want a body where this one does not. */
  renderRequest(use: 'own' | 'shared'): RenderRequest {
    const request = renderRequestOf(this.#request, this.#plan)
    return use === 'shared' ? { ...request, method: 'GET' } : request
  }

  background(): BackgroundRender {
    const { address, context, settings } = this
    const { site, target } = this.#request
    const request = renderRequestOf(
      { ...this.#request, target: { ...target, headers: [['host', context.client.host]] } },
      this.#plan,
    )
    return {
      address,
      settings,
      request: { ...request, method: 'GET', remoteAddress: '', mayStream: false, trace: undefined },
      isInService: () => !site.isRetired,
      onOutdated: () => site.forget(),
    }
  }

  /** True if the site, or its configuration, has changed since the route was matched. */
  isOutdated(): boolean {
    const { site, app } = this.#request
    return site.isRetired || site.knownApp !== app
  }
}

function addressOf({ context, site, target }: SiteRequest, plan: RenderPlan, pattern: string): PageAddress {
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

/** Takes the settings from a configuration. */
export function settingsOf({ cache, render }: Config): IsrSettings {
  const { default_swr_ms, default_ttl_ms, max_bytes } = cache.isr
  return {
    ttlMs: default_ttl_ms,
    swrMs: default_swr_ms,
    waitMs: render.timeout_ms,
    maxBodyBytes: Math.min(MAX_STORED_BYTES, Math.floor(max_bytes * MAX_SHARE)),
  }
}
