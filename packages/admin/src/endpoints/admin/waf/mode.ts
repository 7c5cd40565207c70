import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { oneOf, success } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'

export const setWafMode = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/waf/mode',
  group: 'admin',
  access: 'super_admin',
  summary: 'Sets the mode of the firewall.',
  body: () => z.strictObject({ mode: oneOf(['off', 'monitor', 'block'], 'Strongest action of any rule or pack.') }),
  response: () => success({ mode: z.enum(['off', 'monitor', 'block']) }),
  async handle(plane, { body: { mode }, caller }) {
    await plane.waf.setMode({ mode, username: usernameOf(caller) })
    return ok({ mode })
  },
})
