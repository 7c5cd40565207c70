import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { text } from '../../../contract/schemas.ts'
import { flushSites } from '../../flush-sites.ts'
import { purgeResponse } from '../../purge-answer.ts'

export const flushLabel = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/isolate/flush',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Gives the sites of a label fresh isolates and empty caches.',
  query: () => z.strictObject({ site_label: text('Label of the sites.') }),
  response: purgeResponse,
  handle(plane, { query: { site_label: label } }) {
    const sites = plane.sites.list().flatMap((site) => (site.label === label ? site.id : []))
    if (sites.length > 0) return flushSites(plane, sites, label, { site_label: label, sites })
    return { problem: { status: 404, code: 'unknown_label', detail: `No site has the label ${label}.` } }
  },
})
