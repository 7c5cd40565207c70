import { endpoint } from '../../../../contract/endpoint.ts'
import { notAvailable } from '../../../not-available.ts'

export const runTask = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/tasks/:name/run',
  group: 'admin',
  access: 'super_admin',
  summary: 'Runs a task now.',
  handle: () => notAvailable('The scheduler of tasks'),
})
