import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'

export const changeTask = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/tasks/:name',
  group: 'admin',
  access: 'super_admin',
  summary: 'Enables or disables a task.',
  body: () => z.strictObject({ enabled: z.boolean().check(z.describe('False: the schedule is ignored.')) }),
  response: () => success({ name: z.string(), enabled: z.boolean() }),
  async handle(plane, { params: { name = '' }, body: { enabled }, caller }) {
    await plane.tasks.setEnabled({ name, enabled, username: usernameOf(caller) })
    return ok({ name, enabled })
  },
})
