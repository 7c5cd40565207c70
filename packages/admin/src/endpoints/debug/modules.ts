import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { success, text } from '../../contract/schemas.ts'

export const modules = endpoint({
  method: 'GET',
  path: '/__svc/debug/modules',
  group: 'debug',
  access: 'loopback',
  summary: 'Lists the compiled modules of each isolate of a site, with their imports.',
  query: () => z.strictObject({ site: text('Id of the site.') }),
  response: () =>
    success({
      site: z.string(),
      isolates: z.array(
        z.object({
          host: z.string(),
          pid: z.int(),
          modules: z.array(z.object({ file: z.string(), format: z.string(), imports: z.array(z.string()) })),
        }),
      ),
    }),
  async handle(plane, { query }) {
    const { id: site } = requireSite(plane.sites, query.site)
    return ok({ site, isolates: await plane.renderers.modules(site) })
  },
})
