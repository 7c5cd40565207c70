import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const certs = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/certs',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the certificates in service, and hosts that wait for one.',
  response: () => {
    const maybe = () => z.nullable(z.string())
    return success({
      certs: z.array(
        z.strictObject({
          names: z.array(z.string()),
          source: z.enum(['file', 'acme', 'self_signed']),
          state: z.enum(['valid', 'not_yet_valid', 'expired', 'pending', 'failed']),
          issuer: maybe(),
          not_before: maybe(),
          not_after: maybe(),
          file: maybe(),
          reason: maybe(),
        }),
      ),
    })
  },
  handle: async (plane) => ok({ certs: await plane.fleet.certificates() }),
})
