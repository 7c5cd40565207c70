import { endpoint } from '../../contract/endpoint.ts'
import { notAvailable } from '../not-available.ts'

export const waf = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/waf',
  group: 'admin',
  access: 'viewer',
  summary: 'Shows mode, packs and number of rules of the firewall.',
  handle: () => notAvailable('The web application firewall'),
})
