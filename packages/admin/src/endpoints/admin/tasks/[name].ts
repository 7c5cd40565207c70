import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { notAvailable } from '../../not-available.ts'

export const changeTask = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/tasks/:name',
  group: 'admin',
  access: 'super_admin',
  summary: 'Enables or disables a task.',
  body: () => z.strictObject({ enabled: z.boolean().check(z.describe('False: the schedule is ignored.')) }),
  handle: () => notAvailable('The scheduler of tasks'),
})
