import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { text } from '../../../contract/schemas.ts'
import { purgeAnswer, purgeResponse } from '../../purge-answer.ts'

/** Fresh isolates for every site of a label, and nothing of them stays in the response caches. */
export const flushLabel = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/isolate/flush',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Gives the sites of a label fresh isolates and empty caches.',
  query: () => z.strictObject({ site_label: text('Label of the sites.') }),
  response: purgeResponse,
  async handle(plane, { query: { site_label: label } }) {
    const startedAt = performance.now()
    const sites = plane.sites.list().filter((site) => site.label === label)
    if (sites.length === 0) {
      return { problem: { status: 404, code: 'unknown_label', detail: `No site has the label ${label}.` } }
    }
    const flushed = await Promise.all(sites.map(({ id }) => plane.renderers.flush(id)))
    const outcome = await plane.purges.purge({
      layers: ['l0', 'isr', 'proxy'],
      scopes: [{ kind: 'labels', labels: [label] }],
      mode: 'drop',
    })
    const purged = flushed.reduce((sum, count) => sum + count, 0)
    const scope = { site_label: label, sites: sites.map(({ id }) => id) }
    return purgeAnswer({ layer: 'isolates', purged, scope, outcome, tookMs: performance.now() - startedAt })
  },
})
