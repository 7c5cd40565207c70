import type { Config } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'

const MIN_SECRET_BYTES = 32

function checkUser(user: Config['admin']['users'][number], index: number): Finding[] {
  const path = ['admin', 'users', index, 'tenant_id']
  const isTenantAdmin = user.role === 'tenant_admin'
  return [
    ...findingIf(isTenantAdmin && user.tenant_id === undefined, path, 'is required for role "tenant_admin"'),
    ...findingIf(!isTenantAdmin && user.tenant_id !== undefined, path, `role "${user.role}" has no tenant`),
  ]
}

/** Checks that tokens can be signed safely and that every user's role has what it needs. */
export function checkAdmin({ admin }: Config): Finding[] {
  const secret = admin.jwt_secret
  const isShort = secret !== undefined && Buffer.byteLength(secret) < MIN_SECRET_BYTES
  return [
    ...findingIf(admin.enabled && secret === undefined, ['admin', 'jwt_secret'], 'is required when admin.enabled is true'),
    ...findingIf(isShort, ['admin', 'jwt_secret'], `must have at least ${MIN_SECRET_BYTES} bytes`),
    ...admin.users.flatMap(checkUser),
  ]
}
