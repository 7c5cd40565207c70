import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { success } from '../../../../contract/schemas.ts'
import { runSchema } from '../../../task-schemas.ts'

export const runTask = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/tasks/:name/run',
  group: 'admin',
  access: 'super_admin',
  summary: 'Runs a task now.',
  response: () => success({ run: runSchema() }),
  handle: async (plane, { params: { name = '' } }) => ok({ run: await plane.tasks.run(name) }, 202),
})
