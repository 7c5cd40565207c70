import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const slos = endpoint({
  method: 'GET',
  path: '/__svc/obs/slos',
  group: 'obs',
  access: 'viewer',
  summary: 'Lists the service level objectives with their error budgets and burn rates.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      slos: z.array(
        rowOf(
          z.object({
            name: z.string(),
            site: z.nullable(z.string()),
            kind: z.enum(['availability', 'latency']),
            objective: z.number(),
            threshold_ms: z.nullable(z.int()),
            window_days: z.int(),
            total: z.nullable(z.int()),
            good: z.nullable(z.int()),
            ratio: z.nullable(z.number()),
            budget_left: z.nullable(z.number()),
            counted_since: z.nullable(z.iso.datetime()),
            burn_rates: z.array(
              z.object({
                long_window: z.string(),
                long_rate: z.number(),
                short_window: z.string(),
                short_rate: z.number(),
                threshold: z.number(),
                is_burning: z.boolean(),
              }),
            ),
          }),
        ),
      ),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await plane.slos(), query, ({ name, site }) => JSON.stringify([name, site]))
    return ok({ slos: rows, cursor })
  },
})
