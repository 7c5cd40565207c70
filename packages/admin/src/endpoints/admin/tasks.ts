import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'
import { taskSchema } from '../task-schemas.ts'

export const tasks = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/tasks',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the tasks with their last run.',
  query: () => z.strictObject(pageFields()),
  response: () => success({ tasks: z.array(rowOf(taskSchema())), cursor: cursorField() }),
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await plane.tasks.list(), query, ({ name }) => name)
    return ok({ tasks: rows, cursor })
  },
})
