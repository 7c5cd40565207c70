import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { text, urlPath } from '../../../contract/schemas.ts'
import { notAvailable } from '../../not-available.ts'

export const testWaf = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/waf/test',
  group: 'admin',
  access: 'super_admin',
  summary: 'Says which rule a request would match.',
  body: () =>
    z.strictObject({
      method: text('Method.', 32),
      path: urlPath('Path with query.'),
      headers: z.optional(z.record(z.string(), z.string()).check(z.describe('Header fields.'))),
      body: z.optional(z.string().check(z.maxLength(65_536), z.describe('Body.'))),
      ip: z.optional(text('Address of the client.', 64)),
    }),
  handle: () => notAvailable('The web application firewall'),
})
