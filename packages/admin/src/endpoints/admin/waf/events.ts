import { endpoint } from '../../../contract/endpoint.ts'
import { notAvailable } from '../../not-available.ts'

export const wafEvents = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/waf/events',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists requests that rules matched.',
  handle: () => notAvailable('The web application firewall'),
})
