import { endpoint } from '../../../../../contract/endpoint.ts'
import { requireSite } from '../../../../../contract/own-sites.ts'
import { purgeAnswer, purgeResponse } from '../../../../purge-answer.ts'

export const flushIsolates = endpoint({
  method: 'POST',
  path: '/__svc/api/sites/:id/isolate/flush',
  group: 'cache',
  access: 'loopback',
  isForTenants: true,
  summary: 'Gives a site fresh isolates; no request fails.',
  response: purgeResponse,
  async handle(plane, { params }) {
    const startedAt = performance.now()
    const { id: site } = requireSite(plane.sites, params['id'] ?? '')
    const purged = await plane.renderers.flush(site)
    return purgeAnswer({ layer: 'isolates', purged, scope: { site }, tookMs: performance.now() - startedAt })
  },
})
