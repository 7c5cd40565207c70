import type { ServingGeneration } from '../../generation/serving-generation.ts'
import { sendError } from '../../request/error-response.ts'
import { isPlainOnTls } from '../../request/plain-on-tls.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { isForPanelHost } from '../endpoints/endpoint-access.ts'

/** Path of the first page of the panel. */
export const PANEL = '/__svc/admin'

/**
 * The script that takes the place of every service worker: one that a site registered while the host was its own would go on answering
 * in place of the panel, in the browsers that it is in. They ask for its script again after a page that it answered.
 */
const LEAVING_WORKER = `addEventListener('install', () => skipWaiting())
addEventListener('activate', (event) => {
  const reload = async () => {
    await registration.unregister()
    for (const client of await clients.matchAll({ type: 'window' })) await client.navigate(client.url)
  }
  event.waitUntil(reload())
})
`

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
    if (isPlainOnTls(context) || !isForPanelHost(context)) return 'next'
    const { method, path } = context.request
    context.pathGroup = 'builtin'
    context.withdrawFromL0()
    if (context.request.header('service-worker') === 'script') {
      const headers = [
        ['content-type', 'text/javascript; charset=utf-8'],
        ['cache-control', 'no-store'],
        ['x-content-type-options', 'nosniff'],
      ] as const
      context.respond({ status: 200, headers }, Buffer.from(LEAVING_WORKER))
    } else if (path === '/' && (method === 'GET' || method === 'HEAD')) {
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
