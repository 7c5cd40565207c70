import type { Endpoint } from '../../../contract/endpoint.ts'
import { cacheStats } from '../../cache/stats.ts'

export const adminCacheStats: Endpoint = {
  ...cacheStats,
  path: '/__svc/admin/api/cache/stats',
  group: 'admin',
  access: 'viewer',
}
