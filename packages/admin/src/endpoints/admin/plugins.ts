import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const plugins = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/plugins',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the plugins with their state.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      plugins: z.array(
        rowOf(
          z.object({
            name: z.string(),
            version: z.string().check(z.describe('Empty: no worker has reported.')),
            file: z.string(),
            hooks: z.array(z.string()),
            cacheable: z.boolean().check(z.describe('True: responses that it has seen may enter L0.')),
            timeout_ms: z.number(),
            enabled: z.boolean(),
            state: z
              .enum(['active', 'off', 'disabled'])
              .check(z.describe('disabled: it failed ten times in a row; enable it again when it is mended.')),
            reason: z.nullable(z.string()).check(z.describe('Why it is disabled.')),
            invocations: z.int().check(z.describe('Calls of its hooks, over all workers that run.')),
            errors: z.int(),
            last_error: z.nullable(z.string()),
          }),
        ),
      ),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await plane.plugins.list(), query, ({ name }) => name)
    return ok({ plugins: rows, cursor })
  },
})
