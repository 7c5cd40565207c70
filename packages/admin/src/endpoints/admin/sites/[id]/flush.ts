import { endpoint } from '../../../../contract/endpoint.ts'
import { requireSite } from '../../../../contract/own-sites.ts'
import { flushSites } from '../../../flush-sites.ts'
import { purgeResponse } from '../../../purge-answer.ts'

export const flushSite = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/sites/:id/flush',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Gives a site fresh isolates and empty caches.',
  response: purgeResponse,
  handle(plane, { params }) {
    const { id: site, label } = requireSite(plane.sites, params['id'] ?? '')
    return flushSites(plane, [site], label, { site })
  },
})
