import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { fitting } from '../../../contract/pages.ts'
import { success } from '../../../contract/schemas.ts'

const ids = z.array(z.string())
/** Bytes of the values, and of each other list. */
const MAX_VALUE_BYTES = 48 * 1024
const MAX_LIST_BYTES = 8 * 1024

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
    const { errors, ending, sites, values, notices, is_partial: isPartial } = await instance.preview()
    if (errors.length === 0) {
      const whole = [sites.added, sites.removed, sites.changed, ending, notices]
      const [added, removed, changed, overrides, told] = whole.map((list) => fitting(list, MAX_LIST_BYTES))
      const shown = fitting(values, MAX_VALUE_BYTES)
      const isCut = [added, removed, changed, overrides, told].some((list, index) => list?.length !== whole[index]?.length)
      return ok({
        sites: { added, removed, changed },
        values: shown,
        ending_overrides: overrides,
        notices: told,
        is_partial: isPartial || isCut || shown.length < values.length,
      })
    }
    const detail = 'A reload would fail: the configuration is invalid.'
    const listed = fitting(errors.map((message) => ({ path: '', message })))
    return { problem: { status: 422, code: 'invalid_config', detail, errors: listed } }
  },
})
