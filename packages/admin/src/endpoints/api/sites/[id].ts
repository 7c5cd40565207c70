import * as z from 'zod/mini'
import type { ControlPlane } from '../../../contract/control-plane.ts'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { success } from '../../../contract/schemas.ts'
import { isolateSchema, routeSchema, siteFacts, siteFields } from '../../site-facts.ts'

const counts = () => z.object({ entries: z.int(), bytes: z.int() })

/** The fields of a site with its parts. */
export const detailFields = () => ({
  ...siteFields(),
  routes: z.nullable(z.array(routeSchema())),
  problems: z.array(z.string()),
  isolates: z.array(isolateSchema()),
  cache: z.object({ isr: counts(), proxy: counts() }),
})

export const siteDetails = endpoint({
  method: 'GET',
  path: '/__svc/api/sites/:id',
  group: 'api',
  access: 'loopback',
  summary: 'Shows one site with its routes, isolates and share of the caches.',
  response: () => success(detailFields()),
  handle: async (plane, { params }) => ok(await detailsOf(plane, params['id'] ?? '')),
})

const noRoutes = { routes: null, problems: [] }

/** A site with its routes, isolates and share of the caches. @throws UNKNOWN_SITE */
export async function detailsOf(plane: ControlPlane, wanted: string) {
  const site = requireSite(plane.sites, wanted)
  const { id, label, hasApp } = site
  const [[facts], table, { isolates }] = await Promise.all([
    siteFacts(plane, [site]),
    // A site whose files are unreadable just now has the rest of its facts all the same.
    hasApp ? plane.sites.routes(id).catch(() => ({ routes: null, problems: ['the files cannot be read'] })) : noRoutes,
    plane.renderers.isolates([id]),
  ])
  return { ...facts, ...table, isolates, cache: plane.entries.usage([label]) }
}
