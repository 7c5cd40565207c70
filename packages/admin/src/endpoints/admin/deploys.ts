import type { Endpoint } from '../../contract/endpoint.ts'
import { deploy, releases } from '../api/deploy.ts'

const place = { path: '/__svc/admin/api/deploys', group: 'admin' } as const

export const adminDeploy: Endpoint = { ...deploy, ...place, access: 'tenant_admin' }
export const adminReleases: Endpoint = { ...releases, ...place, access: 'viewer' }
