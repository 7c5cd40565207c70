import { valueOrigins } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { fitting } from '../../../contract/pages.ts'
import { digits, oneOf, success, text } from '../../../contract/schemas.ts'

const MAX_LISTED = 200
/** Values that a page may begin behind. */
const MAX_SKIPPED = 10_000_000

export const configValues = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/config/values',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the values in service with their sources.',
  query: () =>
    z.strictObject({
      q: z.optional(text('A part of the key, or of the place: a file, a variable.', 200)),
      origin: z.optional(oneOf(valueOrigins, 'Values that come from there alone.')),
      limit: z.optional(digits(`Values, at most ${MAX_LISTED}; 100 if it is left out.`, 1, MAX_LISTED)),
      cursor: z.optional(digits('The cursor of the page before.', 0, MAX_SKIPPED)),
    }),
  response: () =>
    success({
      generation: z.int(),
      values: z.array(
        z.object({
          key: z.string(),
          value: z.string().check(z.describe('JSON; long values are cut.')),
          origin: z.enum(valueOrigins),
          place: z.string(),
          after_restart: z.nullable(z.string()),
        }),
      ),
      total: z.int(),
      cursor: z.nullable(z.int()),
    }),
  async handle({ instance }, { query: { q, origin, limit = 100, cursor: skip = 0 } }) {
    const { generation, values: selected, total } = await instance.values({ text: q?.toLowerCase(), origin, limit, skip })
    const values = fitting(selected)
    const next = skip + values.length
    return ok({ generation, values, total, cursor: values.length > 0 && next < total ? next : null })
  },
})
