import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { fittingPage } from '../../../contract/pages.ts'
import { digits, oneOf, success, text } from '../../../contract/schemas.ts'

const event = () =>
  z.object({
    at: z.iso.datetime(),
    request_id: z.string(),
    rule: z.string().check(z.describe('Id of the rule, or name of the pack.')),
    action: z.enum(['monitor', 'block']),
    site: z.string(),
    client: z.string(),
    method: z.string(),
    path: z.string().check(z.describe('Without query.')),
  })

export const wafEvents = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/waf/events',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists requests that rules matched, newest first.',
  query: () =>
    z.strictObject({
      site: z.optional(text('Id of a site.', 64)),
      rule: z.optional(text('Id of a rule, or name of a pack.', 64)),
      action: z.optional(oneOf(['monitor', 'block'], 'Effect.')),
      limit: z.optional(digits('Events on a page; 100 if it is left out.', 1, 1000)),
      cursor: z.optional(digits('The cursor of the page before.', 1, Number.MAX_SAFE_INTEGER)),
    }),
  response: () => success({ events: z.array(event()), cursor: z.nullable(z.int()) }),
  async handle(plane, { query: { site, rule, action, limit = 100, cursor } }) {
    const sites = site === undefined ? undefined : [requireSite(plane.sites, site).id]
    const page = await fittingPage(limit, async (fewer) => {
      const { events: rows, cursor: next } = await plane.waf.events({ sites, rule, action, limit: fewer, before: cursor })
      return { rows, cursor: next }
    })
    return ok({ events: page.rows, cursor: page.cursor })
  },
})
