import { withoutSessionCookie } from '@svc/auth'
import { responseTags } from '@svc/cache'
import { isTrustedOnlyField, type ParsedTarget, parseCookies, parseHost } from '@svc/http'
import type { RenderRequest } from '@svc/protocol'
import type { MatcherRequest, RouteParams } from '@svc/site'
import type { SiteApp, SiteRuntime } from '../generation/site-runtime.ts'
import type { RequestContext } from './request-context.ts'

/** A request to a site; middleware may have rewritten the URL and the fields. */
export interface SiteTarget {
  /** Normalised path. */
  readonly path: string
  /** Absolute; undefined: as the client sent it. */
  readonly url: string | undefined
  /** undefined: those of the client, which are filtered only when something is rendered. */
  readonly headers: [name: string, value: string][] | undefined
}

/** A request at the site that answers it. */
export interface SiteRequest {
  readonly context: RequestContext
  readonly site: SiteRuntime
  readonly app: SiteApp
  readonly target: SiteTarget
}

/** The code of a site that a request runs. */
export interface RenderPlan {
  readonly kind: RenderRequest['kind']
  /** Route id, or "" for middleware and for a path without a route. */
  readonly route: string
  readonly params: RouteParams
}

/** Makes the message to the render host for a request. */
export function renderRequestOf({ context, site, app, target }: SiteRequest, plan: RenderPlan): RenderRequest {
  return {
    site: site.config.id,
    manifestVersion: app.manifest.version,
    kind: plan.kind,
    route: plan.route,
    params: plan.params as RenderRequest['params'],
    requestId: context.requestId,
    method: context.request.method,
    url: target.url ?? absoluteUrl(context),
    headers: target.headers ?? headersForSite(context),
    remoteAddress: context.client.address,
    mayStream: true,
    trace: context.trace?.fieldsOf(plan.kind === 'middleware' ? 'middleware' : 'render'),
  }
}

/**
 * The URL that the client requested, with the path as the router reads it: code of a site that guards paths by their URL must
 * not be passed by with another spelling of the same path, like `//admin` or `/%61dmin`.
 */
export function absoluteUrl(context: Pick<RequestContext, 'request' | 'client'>): string {
  const { request, client } = context
  return siteUrl(`${client.scheme}://${client.host}`, request)
}

/** An absolute URL with a normalised path. */
export function siteUrl(origin: string, { path, query }: Pick<ParsedTarget, 'path' | 'query'>): string {
  return query === '' ? origin + path : `${origin}${path}?${query}`
}

/** Code of a site finds the scheme of its client here, as behind any other server. */
const PROTO = 'x-forwarded-proto'

/**
 * The request's fields as the site's code may see them: without fields that only a trusted proxy may set, without the service's own
 * cookies, and with the host and the scheme that the client named, as far as trusted proxies vouch for them.
 */
function headersForSite(context: RequestContext): [string, string][] {
  const headers: [string, string][] = []
  for (const [name, sent] of context.request.headers) {
    const value = valueForSite(context, name, sent)
    if (value !== undefined) headers.push([name, value])
  }
  headers.push([PROTO, context.client.scheme])
  return headers
}

/**
 * Fields that middleware wants the route to see. Through where a request came is not the site's to say: what goes round in
 * circles would not be stopped.
 */
export function headersOfMiddleware(context: RequestContext, wanted: readonly [string, string][]): [string, string][] {
  const kept = wanted.filter(([name]) => name.toLowerCase() !== 'cdn-loop')
  for (const [name, value] of context.request.headers) if (name.toLowerCase() === 'cdn-loop') kept.push([name, value])
  return kept
}

function valueForSite({ client }: RequestContext, name: string, value: string): string | undefined {
  if (name === 'host') return client.host
  // Replaced by the result of `Forwarded` and the chain of proxies.
  if (name === PROTO) return undefined
  if (name === 'x-forwarded-host') return client.isPeerTrusted ? client.host : undefined
  if (name === 'cookie') return withoutSessionCookie(value)
  return client.isPeerTrusted || !isTrustedOnlyField(name) ? value : undefined
}

/**
 * The request as conditions of a middleware matcher see it: only the parts that the site's code may see. Parsed on first use. A response
 * that hangs on a field is kept out of L0: for another request the middleware might have run.
 */
export function conditionFacts(context: RequestContext): MatcherRequest {
  const { request, client } = context
  const header = (name: string) => {
    context.withdrawFromL0()
    if (name === PROTO) return client.scheme
    const sent = request.header(name)
    return sent === undefined ? undefined : valueForSite(context, name, sent)
  }
  return {
    get host() {
      const host = parseHost(client.host)
      return host === 'bad_host' ? '' : host.hostname
    },
    header,
    cookie: (name) => parseCookies(header('cookie')).get(name),
    query: (name) => new URLSearchParams(request.query).getAll(name).at(-1),
  }
}

/**
 * Offers the response for a path of the request's site to L0, under the tag of that path. `expiresAt`: never, unless it is given.
 * @returns true if L0 wants it
 */
export function offerPathToL0(
  context: RequestContext,
  path: string,
  {
    expiresAt = Number.POSITIVE_INFINITY,
    isCurrent = always,
  }: { readonly expiresAt?: number; readonly isCurrent?: () => boolean } = {},
): boolean {
  const label = context.site?.config.label
  if (label === undefined) return false
  const tags = responseTags(label, path, '', [])
  return context.offerToL0({ expiresAt, label, path, tags, dependsOnCookies: false, isCurrent })
}

const always = () => true
