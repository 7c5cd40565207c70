import type { FlowFilter } from '@svc/protocol'
import * as z from 'zod/mini'
import type { Sites } from '../../contract/control-plane.ts'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { digits, success, text } from '../../contract/schemas.ts'

const reasons = ['slow', 'failed', 'sample'] as const
type Reason = (typeof reasons)[number]

/** Parameters that select flows. */
export const selectionFields = () => ({
  site: z.optional(text('Id of a site: only its requests.')),
  reason: z.optional(z.enum(reasons).check(z.describe('Why they were recorded.'))),
})

/** @throws UNKNOWN_SITE */
export function flowFilter(
  { site, reason }: { readonly site?: string | undefined; readonly reason?: Reason | undefined },
  sites: Pick<Sites, 'list'>,
): FlowFilter {
  return {
    ...(site === undefined ? {} : { sites: [requireSite(sites, site).id] }),
    ...(reason === undefined ? {} : { reason }),
  }
}

/** The fields of a flow. */
export const flowFields = () => ({
  request_id: z.string(),
  at: z.iso.datetime(),
  site: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.int(),
  duration_ms: z.number(),
  reason: z.enum(reasons),
  stages: z.array(z.object({ name: z.string(), start_ms: z.number(), duration_ms: z.number(), outcome: z.string() })),
})

const sinceOf = (since: string | undefined) => (since === undefined ? {} : { sinceMs: Date.parse(since) })

export const flows = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/flows',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists recorded requests with their stages, newest first.',
  query: () =>
    z.strictObject({
      ...selectionFields(),
      since: z.optional(z.iso.datetime({ offset: true }).check(z.describe('A time, RFC 3339: later ones alone.'))),
      limit: z.optional(digits('Requests to list; 100 if it is left out.', 1, 1000)),
    }),
  response: () => success({ flows: z.array(z.object(flowFields())), is_partial: z.boolean() }),
  async handle(plane, { query }) {
    const page = await plane.flows.page({ ...flowFilter(query, plane.sites), ...sinceOf(query.since), limit: query.limit ?? 100 })
    return ok({ flows: page.flows, is_partial: page.answered < page.total })
  },
})
