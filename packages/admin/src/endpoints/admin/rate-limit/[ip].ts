import { endpoint } from '../../../contract/endpoint.ts'
import { notAvailable } from '../../not-available.ts'

export const unblockClient = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/rate-limit/:ip',
  group: 'admin',
  access: 'super_admin',
  summary: 'Gives a client its budget back.',
  handle: () => notAvailable('Rate limiting'),
})
