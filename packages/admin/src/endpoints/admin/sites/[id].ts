import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { fitted, fitting } from '../../../contract/pages.ts'
import { success } from '../../../contract/schemas.ts'
import { detailFields, detailsOf } from '../../api/sites/[id].ts'

/** Bytes of the routes, of the isolates, of the problems, and of the other facts. */
const MAX_LIST_BYTES = 24 * 1024
const MAX_PROBLEM_BYTES = 16 * 1024
const MAX_FACT_BYTES = 16 * 1024
const MAX_ITEM_BYTES = 4 * 1024

/** The first items of a list. */
function partOf<Item extends object>(items: readonly Item[]): readonly Item[] {
  return fitting(
    items.map((item) => fitted(item, MAX_ITEM_BYTES)),
    MAX_LIST_BYTES,
  )
}

export const adminSiteDetails = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/sites/:id',
  group: 'admin',
  access: 'viewer',
  summary: 'Shows one site with its routes, isolates and share of the caches.',
  response: () =>
    success({
      ...detailFields(),
      is_partial: z.boolean().check(z.describe('There is more: `/routes` lists all routes and problems.')),
    }),
  async handle(plane, { params }) {
    const { routes, problems, isolates, ...facts } = await detailsOf(plane, params['id'] ?? '')
    const shown = {
      routes: routes && partOf(routes),
      problems: fitting(
        problems.map((problem) => problem.slice(0, MAX_ITEM_BYTES / 4)),
        MAX_PROBLEM_BYTES,
      ),
      isolates: partOf(isolates),
    }
    const { is_cut: isCut = false, ...known } = fitted({ ...facts, is_cut: undefined }, MAX_FACT_BYTES)
    const isWhole = [
      [shown.routes, routes],
      [shown.problems, problems],
      [shown.isolates, isolates],
    ].every(([part, all]) => JSON.stringify(part) === JSON.stringify(all))
    return ok({ ...known, ...shown, is_partial: isCut || !isWhole })
  },
})
