import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { success } from '../../../contract/schemas.ts'
import { isolateSchema, routeSchema, siteFacts, siteFields } from '../../site-facts.ts'

const counts = () => z.object({ entries: z.int(), bytes: z.int() })

export const siteDetails = endpoint({
  method: 'GET',
  path: '/__svc/api/sites/:id',
  group: 'api',
  access: 'loopback',
  summary: 'Shows one site with its routes, isolates and share of the caches.',
  response: () =>
    success({
      ...siteFields(),
      routes: z.nullable(z.array(routeSchema())),
      problems: z.array(z.string()),
      isolates: z.array(isolateSchema()),
      cache: z.object({ isr: counts(), proxy: counts() }),
    }),
  async handle(plane, { params }) {
    const site = requireSite(plane.sites, params['id'] ?? '')
    const { id, label, hasApp } = site
    const [[facts], table, { isolates }] = await Promise.all([
      siteFacts(plane, [site]),
      // A site whose files are unreadable just now has the rest of its facts all the same.
      hasApp ? plane.sites.routes(id).catch(() => ({ routes: null, problems: ['the files cannot be read'] })) : noRoutes,
      plane.renderers.isolates([id]),
    ])
    return ok({
      ...facts,
      ...table,
      isolates,
      cache: plane.entries.usage([label]),
    })
  },
})

const noRoutes = { routes: null, problems: [] }
