import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const alerts = endpoint({
  method: 'GET',
  path: '/__svc/obs/alerts',
  group: 'obs',
  access: 'viewer',
  summary: 'Lists the alerts, those that fire first.',
  response: () =>
    success({
      evaluated_at: z.nullable(z.iso.datetime()),
      alerts: z.array(
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
    }),
  handle: async (plane) => ok(await plane.alerts.report()),
})
