import type { Endpoint } from '../../contract/endpoint.ts'
import { isolates } from '../debug/isolates.ts'

export const adminIsolates: Endpoint = { ...isolates, path: '/__svc/admin/api/isolates', group: 'admin', access: 'viewer' }
