import { sendError } from '../../request/error-response.ts'
import type { RequestContext } from '../../request/request-context.ts'
import type { Stage, StageResult } from '../../request/stage.ts'

/**
 * Finds the site or the server of a vhost file by listen address and host name. A host that nothing claims goes to the default
 * of the address, else to the first one, as in nginx.
 */
export class VhostStage implements Stage {
  readonly name = 'vhost'

  run(context: RequestContext): StageResult {
    const { generation, client } = context
    if (!generation.hasVhosts) {
      const site = generation.siteOf(client.host)
      if (site === undefined) return withoutSite(context)
      context.site = site
      return 'next'
    }
    const route = generation.route(context.exchange.request.listener, client.host)
    if (route === undefined) return withoutSite(context)
    context.site = route.site
    context.vhost = route.vhost
    return route.vhost === undefined ? limitBody(context) : 'next'
  }
}

/** The engine lets the largest body through that any location takes; sites have their own limit. */
function limitBody(context: RequestContext): StageResult {
  const { generation } = context
  const limit = generation.config.server.max_body_bytes
  if (generation.maxBodyBytes <= limit || context.limitBody(limit)) return 'next'
  sendError(context, { status: 413, code: 'body_too_large' })
  return 'answered'
}

/** A rule may send a request on that no site claims. */
function withoutSite(context: RequestContext): StageResult {
  return context.generation.config.route_rules.length === 0 ? noSite(context) : 'next'
}

/** Answers where nothing is served. */
export function noSite(context: RequestContext): StageResult {
  sendError(context, { status: 404, code: 'no_site', detail: 'No site is configured on this server.' })
  return 'answered'
}
