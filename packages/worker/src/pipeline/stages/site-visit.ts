import type { SiteApp, SiteRuntime } from '../../generation/site-runtime.ts'
import type { RequestContext } from '../../request/request-context.ts'

/** What a request asks of a site; middleware may have rewritten the URL and the fields. */
export interface SiteTarget {
  /** Normalised path. */
  readonly path: string
  /** Absolute; undefined: as the client sent it. */
  readonly url: string | undefined
  /** undefined: those of the client, which are filtered only when something is rendered. */
  readonly headers: [name: string, value: string][] | undefined
}

/** A request at the site that answers it. */
export interface SiteVisit {
  readonly context: RequestContext
  readonly site: SiteRuntime
  readonly app: SiteApp
  readonly target: SiteTarget
}
