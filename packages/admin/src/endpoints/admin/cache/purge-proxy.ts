import type { Endpoint } from '../../../contract/endpoint.ts'
import { purgeProxy } from '../../cache/purge-proxy.ts'

export const adminPurgeProxy: Endpoint = {
  ...purgeProxy,
  path: '/__svc/admin/api/cache/purge-proxy',
  group: 'admin',
  access: 'tenant_admin',
}
