import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { fittingPage } from '../../contract/pages.ts'
import { digits, oneOf, success, text } from '../../contract/schemas.ts'

const results = ['ok', 'denied', 'failed'] as const
/** The name of those who were not logged in. */
const NO_USER = '-'

const entry = () =>
  z.object({
    at: z.iso.datetime(),
    username: z.string(),
    address: z.string(),
    action: z.string(),
    target: z.string(),
    result: z.enum(results),
    detail: z.string(),
    request_id: z.string(),
  })

export const audit = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/audit',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists operations and denied attempts, newest first.',
  query: () =>
    z.strictObject({
      user: z.optional(text('Name of a user; "-": without a login.', 256)),
      action: z.optional(text('A part of the operation, or of the thing that it was about.', 200)),
      result: z.optional(oneOf(results, 'Operations with this result alone.')),
      since: z.optional(z.iso.datetime({ offset: true }).check(z.describe('A time, RFC 3339.'))),
      limit: z.optional(digits('Records on a page; 100 if it is left out.', 1, 1000)),
      cursor: z.optional(digits('The cursor of the page before.', 1, Number.MAX_SAFE_INTEGER)),
    }),
  response: () => success({ entries: z.array(entry()), cursor: z.nullable(z.int()) }),
  async handle({ audit: records }, { query: { user, action, result, since, limit = 100, cursor: before } }) {
    const selection = {
      before,
      username: user === NO_USER ? '' : user,
      text: action?.toLowerCase(),
      result,
      sinceMs: since === undefined ? undefined : Date.parse(since),
    }
    const { rows, cursor } = await fittingPage(limit, async (fewer) => {
      const { entries, cursor: next } = await records.page({ ...selection, limit: fewer })
      return { rows: entries, cursor: next }
    })
    return ok({ entries: rows, cursor })
  },
})
