import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const alerts = endpoint({
  method: 'GET',
  path: '/__svc/obs/alerts',
  group: 'obs',
  access: 'viewer',
  summary: 'Lists the alerts, those that fire first.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      evaluated_at: z.nullable(z.iso.datetime()),
      alerts: z.array(
        rowOf(
          z.object({
            name: z.string(),
            source: z.enum(['built_in', 'configured']),
            state: z.enum(['ok', 'pending', 'firing']),
            since: z.iso.datetime(),
            value: z.nullable(z.number()),
            unit: z.string(),
            site: z.nullable(z.string()),
            subject: z.string(),
            hint: z.string(),
            silence: z.nullable(z.object({ id: z.string(), until: z.iso.datetime(), reason: z.string(), username: z.string() })),
          }),
        ),
      ),
      total: z.int().check(z.describe('Alerts on all pages.')),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { evaluated_at, alerts: all } = await plane.alerts.report()
    const { rows, cursor } = pageOf(all, query, ({ name, site, subject }) => JSON.stringify([name, site, subject]))
    return ok({ evaluated_at, alerts: rows, total: all.length, cursor })
  },
})
