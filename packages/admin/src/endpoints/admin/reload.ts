import type { Endpoint } from '../../contract/endpoint.ts'
import { reload } from '../api/reload.ts'

export const adminReload: Endpoint = { ...reload, path: '/__svc/admin/api/reload', group: 'admin', access: 'super_admin' }
