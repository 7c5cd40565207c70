import type { ServingGeneration } from '../../generation/serving-generation.ts'
import { sendError } from '../../request/error-response.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { isForPanelHost } from '../endpoints/endpoint-access.ts'

/** Path of the first page of the panel. */
export const PANEL = '/__svc/admin'

/**
 * Keeps all sites off the hosts of the panel. Browsers count a host as one: a script of a site there could act as the user whose
 * session cookie the browser sends.
 */
export class PanelHostStage implements Stage {
  readonly name = 'panel-host'

  isNeeded({ config }: ServingGeneration): boolean {
    return config.admin.enabled
  }

  run(context: RequestContext): StageResult {
    if (!isForPanelHost(context)) return 'next'
    const { method, path } = context.request
    context.pathGroup = 'builtin'
    context.withdrawFromL0()
    if (path === '/' && (method === 'GET' || method === 'HEAD')) {
      const headers = [
        ['location', PANEL],
        ['cache-control', 'no-store'],
      ] as const
      context.respond({ status: 302, headers })
    } else
      sendError(context, {
        status: 404,
        code: 'not_found',
        detail: 'This host belongs to the admin panel: no site answers here.',
      })
    return 'answered'
  }
}
