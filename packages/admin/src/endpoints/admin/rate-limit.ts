import { endpoint } from '../../contract/endpoint.ts'
import { notAvailable } from '../not-available.ts'

export const rateLimit = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/rate-limit',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists clients that are near or over their budget.',
  handle: () => notAvailable('Rate limiting'),
})
