import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { requireSite } from '../../../../contract/own-sites.ts'
import { cursorField, fitting, pageFields, pageOf, rowOf } from '../../../../contract/pages.ts'
import { success } from '../../../../contract/schemas.ts'
import { routeSchema } from '../../../site-facts.ts'

/** Bytes of the problems, and characters of one. */
const MAX_PROBLEM_BYTES = 16 * 1024
const MAX_PROBLEM_CHARS = 1_024

export const siteRoutes = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/sites/:id/routes',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the routes of a site, and the problems of its files.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      routes: z.array(rowOf(routeSchema())),
      problems: z.array(z.string()).check(z.describe('The first ones.')),
      problem_count: z.int(),
      cursor: cursorField(),
    }),
  async handle(plane, { params, query }) {
    const { routes, problems } = await plane.sites.routes(requireSite(plane.sites, params['id'] ?? '').id)
    const { rows, cursor } = pageOf(routes, query, ({ pattern, kind }) => JSON.stringify([pattern, kind]))
    const shown = fitting(
      problems.map((problem) => problem.slice(0, MAX_PROBLEM_CHARS)),
      MAX_PROBLEM_BYTES,
    )
    return ok({ routes: rows, problems: shown, problem_count: problems.length, cursor })
  },
})
