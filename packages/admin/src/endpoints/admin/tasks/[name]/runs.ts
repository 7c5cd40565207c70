import { endpoint } from '../../../../contract/endpoint.ts'
import { notAvailable } from '../../../not-available.ts'

export const taskRuns = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/tasks/:name/runs',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the last runs of a task.',
  handle: () => notAvailable('The scheduler of tasks'),
})
