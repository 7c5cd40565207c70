import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'

const ids = z.array(z.string())

export const configDiff = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/config/diff',
  group: 'admin',
  access: 'super_admin',
  summary: 'Shows the changes that a reload would make now. Changes nothing.',
  response: () =>
    success({
      sites: z.object({ added: ids, removed: ids, changed: ids }),
      values: z.array(
        z.object({
          key: z.string(),
          before: z.nullable(z.string()),
          after: z.nullable(z.string()),
          needs_restart: z.boolean(),
        }),
      ),
      ending_overrides: ids,
      notices: z.array(z.string()),
      is_partial: z.boolean(),
    }),
  async handle({ instance }) {
    const { errors, ending, ...changes } = await instance.preview()
    if (errors.length === 0) return ok({ ...changes, ending_overrides: ending })
    const detail = 'A reload would fail: the configuration is invalid.'
    const listed = errors.map((message) => ({ path: '', message }))
    return { problem: { status: 422, code: 'invalid_config', detail, errors: listed } }
  },
})
