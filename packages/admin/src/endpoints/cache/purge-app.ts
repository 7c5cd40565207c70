import * as z from 'zod/mini'
import { endpoint } from '../../contract/endpoint.ts'
import { absolutePath } from '../../contract/schemas.ts'
import { purgeAnswer, purgeResponse } from '../purge-answer.ts'

export const purgeApp = endpoint({
  method: 'POST',
  path: '/compat-cache/purge-app',
  group: 'cache',
  access: 'loopback',
  summary: 'Drops modules, routes and pages of a site.',
  body: () => z.strictObject({ app_root: absolutePath('directory', 'Root or app directory of a site.') }),
  response: purgeResponse,
  async handle(plane, { body }) {
    const startedAt = performance.now()
    const reset = await plane.purges.resetApp(body.app_root)
    if (reset.sites.length === 0) {
      const detail = `No site has the root or app directory ${body.app_root}. There are: ${reset.roots.join(', ')}`
      return { problem: { status: 404, code: 'unknown_app_root', detail } }
    }
    const outcome = { ...reset, proxy: 0, workersAcked: 0, workersTotal: 0, instances: { acked: 1, known: 1 } }
    const scope = { ...body, sites: reset.sites }
    return purgeAnswer({ layer: 'app', purged: reset.evicted, scope, outcome, tookMs: performance.now() - startedAt })
  },
})
