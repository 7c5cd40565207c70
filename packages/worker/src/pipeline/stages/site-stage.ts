import { sendError } from '../error-response.ts'
import type { RequestContext } from '../request-context.ts'
import type { Stage, StageResult } from '../stage.ts'

/** Finds the site by host name. A host that no site claims goes to the first site, as in nginx. */
export class SiteStage implements Stage {
  readonly name = 'site'

  run(context: RequestContext): StageResult {
    const site = context.generation.siteOf(context.client.host)
    if (site === undefined) {
      sendError(context, { status: 404, code: 'no_site', detail: 'No site is configured on this server.' })
      return 'answered'
    }
    context.site = site
    return 'next'
  }
}
