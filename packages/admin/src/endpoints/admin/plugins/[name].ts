import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'

export const changePlugin = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/plugins/:name',
  group: 'admin',
  access: 'super_admin',
  summary: 'Enables or disables a plugin.',
  body: () => z.strictObject({ enabled: z.boolean().check(z.describe('False: its hooks are skipped.')) }),
  response: () => success({ name: z.string(), enabled: z.boolean() }),
  async handle(plane, { params: { name = '' }, body: { enabled }, caller }) {
    await plane.plugins.setEnabled({ name, enabled, username: usernameOf(caller) })
    return ok({ name, enabled })
  },
})
