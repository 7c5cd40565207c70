import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { success, text } from '../../contract/schemas.ts'

export const heapSnapshot = endpoint({
  method: 'POST',
  path: '/__svc/debug/heap-snapshot',
  group: 'debug',
  access: 'super_admin',
  summary: 'Writes the heap of an isolate of a site to a file.',
  query: () => z.strictObject({ site: text('Id of the site.') }),
  response: () => success({ file: z.string(), bytes: z.int(), host: z.string() }),
  async handle(plane, { query }) {
    const { id } = requireSite(plane.sites, query.site)
    return ok({ ...(await plane.renderers.heapSnapshot(id)) })
  },
})
