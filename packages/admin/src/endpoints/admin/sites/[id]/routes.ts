import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { requireSite } from '../../../../contract/own-sites.ts'
import { success } from '../../../../contract/schemas.ts'
import { routeSchema } from '../../../site-facts.ts'

export const siteRoutes = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/sites/:id/routes',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the routes of a site, and the problems of its files.',
  response: () => success({ routes: z.array(routeSchema()), problems: z.array(z.string()) }),
  async handle(plane, { params }) {
    const { routes, problems } = await plane.sites.routes(requireSite(plane.sites, params['id'] ?? '').id)
    return ok({ routes, problems })
  },
})
