import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { fitted } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const adminHealth = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/health',
  group: 'admin',
  access: 'viewer',
  // Its components name sites of all tenants.
  isForTenants: false,
  summary: 'Health report with its components; 200 whatever it says.',
  response: () =>
    success({
      status: z.enum(['healthy', 'degraded']),
      uptime_secs: z.int(),
      checks: z.record(z.string(), z.string()),
      is_cut: z.optional(z.literal(true).check(z.describe('Texts are cut: `svc status` has all.'))),
    }),
  handle: async (plane) => ok(fitted(await plane.health())),
})
