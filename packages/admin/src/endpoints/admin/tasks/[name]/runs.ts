import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { success } from '../../../../contract/schemas.ts'
import { runSchema } from '../../../task-schemas.ts'

export const taskRuns = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/tasks/:name/runs',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the last runs of a task.',
  response: () => success({ runs: z.array(runSchema()) }),
  handle: async (plane, { params: { name = '' } }) => ok({ runs: await plane.tasks.runs(name) }),
})
