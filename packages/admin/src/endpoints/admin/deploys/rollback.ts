import type { Endpoint } from '../../../contract/endpoint.ts'
import { rollback } from '../../api/deploy/rollback.ts'

export const adminRollback: Endpoint = {
  ...rollback,
  path: '/__svc/admin/api/deploys/rollback',
  group: 'admin',
  access: 'tenant_admin',
}
