import type { Endpoint } from '../../contract/endpoint.ts'
import { sites } from '../api/sites.ts'

export const adminSites: Endpoint = { ...sites, path: '/__svc/admin/api/sites', group: 'admin', access: 'viewer' }
