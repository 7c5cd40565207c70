import type { RenderRequest } from '@svc/protocol'
import type { RouteParams } from '@svc/site'
import { absoluteUrl, headersForSite } from '../../request/site-request.ts'
import type { SiteVisit } from './site-visit.ts'

/** What of a site is to be run for a visit. */
export interface RenderPlan {
  readonly kind: RenderRequest['kind']
  /** Route id, or "" for middleware and for a path without a route. */
  readonly route: string
  readonly params: RouteParams
}

/** The message to the render host for a visit. */
export function renderRequestOf({ context, site, app, target }: SiteVisit, plan: RenderPlan): RenderRequest {
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
  }
}
