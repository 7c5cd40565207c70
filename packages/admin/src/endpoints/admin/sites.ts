import * as z from 'zod/mini'
import type { SiteSummary } from '../../contract/control-plane.ts'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success, text } from '../../contract/schemas.ts'
import { siteFacts, siteFields } from '../site-facts.ts'

/** True if id, tenant and host names of a site contain all words. */
function contains({ id, tenant = '', hostnames }: SiteSummary, words: readonly string[]): boolean {
  const texts = [id, tenant, ...hostnames].map((one) => one.toLowerCase())
  return words.every((word) => texts.some((one) => one.includes(word)))
}

export const adminSites = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/sites',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the sites with their state.',
  query: () =>
    z.strictObject({
      q: z.optional(text('Words that id, tenant or host names contain.', 500)),
      state: z.optional(text('Sites in this state alone.', 64)),
      ...pageFields(),
    }),
  response: () =>
    success({
      sites: z.array(rowOf(z.object(siteFields()))),
      total: z.int().check(z.describe('Sites that fit, on all pages.')),
      all: z.int().check(z.describe('Sites that the user may read.')),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
    const listed = plane.sites.list()
    const facts = await siteFacts(
      plane,
      listed.filter((site) => contains(site, words)),
    )
    const selected = facts.filter(({ state }) => query.state === undefined || state === query.state)
    const { rows, cursor } = pageOf(selected, query, ({ id }) => id)
    return ok({ sites: rows, total: selected.length, all: listed.length, cursor })
  },
})
