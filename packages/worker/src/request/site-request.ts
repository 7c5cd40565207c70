import { isTrustedOnlyField, type ParsedTarget, parseCookies, parseHost, removeCookies } from '@svc/http'
import type { MatcherRequest } from '@svc/site'
import type { RequestContext } from './request-context.ts'

/**
 * The URL that the client requested, with the path as the router reads it: code of a site that guards paths by their URL must
 * not be passed by with another spelling of the same path, like `//admin` or `/%61dmin`.
 */
export function absoluteUrl(context: RequestContext): string {
  const { request, client } = context
  return siteUrl(`${client.scheme}://${client.host}`, request)
}

/** An absolute URL with a normalised path. */
export function siteUrl(origin: string, { path, query }: Pick<ParsedTarget, 'path' | 'query'>): string {
  return query === '' ? origin + path : `${origin}${path}?${query}`
}

/** Code of a site finds the scheme of its client here, as behind any other server. */
const PROTO = 'x-forwarded-proto'

/** Cookies of the service itself: no site and no upstream ever sees them. */
export const OWN_COOKIES: ReadonlySet<string> = new Set(['SVC_ADMIN'])

/**
 * The request's fields as the site's code may see them: without fields that only a trusted proxy may set, without the service's own
 * cookies, and with the host and the scheme that the client named, as far as trusted proxies vouch for them.
 */
export function headersForSite(context: RequestContext): [string, string][] {
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
  if (name === 'cookie') return removeCookies(value, OWN_COOKIES)
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
