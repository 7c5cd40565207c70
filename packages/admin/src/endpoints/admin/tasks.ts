import { endpoint } from '../../contract/endpoint.ts'
import { notAvailable } from '../not-available.ts'

export const tasks = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/tasks',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the tasks with their last run.',
  handle: () => notAvailable('The scheduler of tasks'),
})
