import type { Endpoint } from '../../contract/endpoint.ts'
import { config } from '../api/config.ts'

export const adminConfig: Endpoint = { ...config, path: '/__svc/admin/api/config', group: 'admin', access: 'super_admin' }
