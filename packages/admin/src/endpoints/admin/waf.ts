import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

const mode = () => z.enum(['off', 'monitor', 'block'])

export const waf = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/waf',
  group: 'admin',
  access: 'viewer',
  summary: 'Shows mode, packs and number of rules of the firewall.',
  response: () => success({ mode: mode(), packs: z.record(z.string(), mode()), rules: z.int() }),
  handle: (plane) => ok({ mode: plane.waf.mode(), packs: plane.waf.packs(), rules: plane.waf.rules().length }),
})
