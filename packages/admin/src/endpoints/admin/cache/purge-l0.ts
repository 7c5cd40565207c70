import type { Endpoint } from '../../../contract/endpoint.ts'
import { purgeL0 } from '../../cache/purge-l0.ts'

export const adminPurgeL0: Endpoint = {
  ...purgeL0,
  path: '/__svc/admin/api/cache/purge-l0',
  group: 'admin',
  access: 'tenant_admin',
}
