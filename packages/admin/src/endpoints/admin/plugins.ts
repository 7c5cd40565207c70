import { endpoint } from '../../contract/endpoint.ts'
import { notAvailable } from '../not-available.ts'

export const plugins = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/plugins',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the plugins with their state.',
  handle: () => notAvailable('The loader of plugins'),
})
