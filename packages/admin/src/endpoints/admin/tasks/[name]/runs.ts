import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../../../contract/pages.ts'
import { success } from '../../../../contract/schemas.ts'
import { runSchema } from '../../../task-schemas.ts'

export const taskRuns = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/tasks/:name/runs',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the last runs of a task.',
  query: () => z.strictObject(pageFields()),
  response: () => success({ runs: z.array(rowOf(runSchema())), cursor: cursorField() }),
  async handle(plane, { params: { name = '' }, query }) {
    const { rows, cursor } = pageOf(await plane.tasks.runs(name), query, ({ id }) => id)
    return ok({ runs: rows, cursor })
  },
})
