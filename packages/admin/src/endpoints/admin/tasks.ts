import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { taskSchema } from '../task-schemas.ts'

export const tasks = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/tasks',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the tasks with their last run.',
  response: () => success({ tasks: z.array(taskSchema()) }),
  handle: async (plane) => ok({ tasks: await plane.tasks.list() }),
})
