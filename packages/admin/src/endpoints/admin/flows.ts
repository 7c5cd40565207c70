import type { FlowFilter, FlowPlace } from '@svc/protocol'
import * as z from 'zod/mini'
import type { Sites } from '../../contract/control-plane.ts'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { cursorField, fitting } from '../../contract/pages.ts'
import { digits, success, text } from '../../contract/schemas.ts'
import { AdminError } from '../../errors/errors.ts'

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

const cursorOf = ({ at, request_id: id }: FlowPlace) => `${at}_${Buffer.from(id).toString('base64url')}`

/** @throws BAD_CURSOR */
function placeOf(cursor: string): FlowPlace {
  const [, at, id] = /^([\dT:.Z-]{20,30})_([\w-]{0,700})$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) throw new AdminError('BAD_CURSOR', {})
  return { at, request_id: Buffer.from(id, 'base64url').toString() }
}

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
      limit: z.optional(digits('Requests on a page of at most 64 KiB; 100 if it is left out.', 1, 1000)),
      cursor: z.optional(text('The cursor of the page before.', 800)),
    }),
  response: () => success({ flows: z.array(z.object(flowFields())), is_partial: z.boolean(), cursor: cursorField() }),
  async handle(plane, { query }) {
    const { limit = 100, since, cursor } = query
    const range = { ...sinceOf(since), ...(cursor === undefined ? {} : { before: placeOf(cursor) }) }
    // One more than wanted tells if there are more.
    const page = await plane.flows.page({ ...flowFilter(query, plane.sites), ...range, limit: limit + 1 })
    const shown = fitting(page.flows.slice(0, limit))
    const last = shown.at(-1)
    const next = last === undefined || shown.length === page.flows.length ? null : cursorOf(last)
    return ok({ flows: shown, is_partial: page.answered < page.total, cursor: next })
  },
})
