import { clientNetwork, parseTarget } from '@svc/http'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success, text, urlPath } from '../../../contract/schemas.ts'

const isTarget = (path: string) => typeof parseTarget(path) !== 'string'
const isAddress = (ip: string) => clientNetwork(ip) !== ''

export const testWaf = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/waf/test',
  group: 'admin',
  access: 'super_admin',
  summary: 'Shows the rule that a request would match.',
  body: () =>
    z.strictObject({
      method: text('Method.', 32),
      path: urlPath('Path with query.').check(z.refine(isTarget, 'cannot be the target of a request')),
      headers: z.optional(z.record(z.string(), z.string()).check(z.describe('Header fields. "host" chooses the site.'))),
      body: z.optional(z.string().check(z.maxLength(65_536), z.describe('Body.'))),
      ip: z.optional(text('Address of the client.', 64).check(z.refine(isAddress, 'must be an IP address'))),
    }),
  response: () =>
    success({
      action: z.enum(['pass', 'monitor', 'block']).check(z.describe('For a client below all rates.')),
      rule: z.nullable(z.string()).check(z.describe('Id of the rule, or name of the pack.')),
      matched: z.boolean(),
    }),
  async handle(plane, { body: { method, path, headers = {}, body, ip = '' } }) {
    const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
    return ok({ ...plane.waf.test({ method, target: path, headers: fields, body, address: ip }) })
  },
})
