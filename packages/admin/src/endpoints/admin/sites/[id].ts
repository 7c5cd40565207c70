import type { Endpoint } from '../../../contract/endpoint.ts'
import { siteDetails } from '../../api/sites/[id].ts'

export const adminSite: Endpoint = { ...siteDetails, path: '/__svc/admin/api/sites/:id', group: 'admin', access: 'viewer' }
