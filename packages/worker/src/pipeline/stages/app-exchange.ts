import type { RenderRequest } from '@svc/protocol'
import type { RouteParams } from '@svc/site'
import type { SiteApp, SiteRuntime } from '../../generation/site-runtime.ts'
import type { RequestContext } from '../../request/request-context.ts'
import { absoluteUrl, headersForSite } from '../../request/site-request.ts'

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
export interface AppExchange {
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
export function renderRequestOf({ context, site, app, target }: AppExchange, plan: RenderPlan): RenderRequest {
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
