import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { digits, success } from '../../contract/schemas.ts'

const entry = () =>
  z.object({
    at: z.iso.datetime(),
    username: z.string(),
    address: z.string(),
    action: z.string(),
    target: z.string(),
    result: z.enum(['ok', 'denied', 'failed']),
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
      limit: z.optional(digits('Records on a page; 100 if it is left out.', 1, 1000)),
      cursor: z.optional(digits('The cursor of the page before.', 1, Number.MAX_SAFE_INTEGER)),
    }),
  response: () => success({ entries: z.array(entry()), cursor: z.nullable(z.int()) }),
  handle: async (plane, { query }) => ok({ ...(await plane.audit.page(query.limit ?? 100, query.cursor)) }),
})
