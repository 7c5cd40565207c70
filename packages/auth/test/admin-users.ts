import { signToken, tokenKey } from '../src/index.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const HASH = '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$kQv7rJ0wX8y0mJt2q9r8k3vJ0Zb5m1c2d3e4f5a6b7c'
/** Whole seconds, as in tokens. */
const NOW = Math.floor(Date.now() / 1000) * 1000

/** Role, and tenant where there is one. */
const users = {
  root: ['super_admin'],
  vera: ['viewer'],
  tom: ['tenant_admin', 'acme'],
  ida: ['tenant_admin', 'globex'],
} as const
export type Username = keyof typeof users

/** Users of each role, and the group `admin`. */
export const adminToml = `[endpoints]
admin = true
[admin]
enabled = true
jwt_secret = "${SECRET}"
${Object.entries(users)
  .map(([username, [role, tenant]]) => {
    const tenantId = tenant === undefined ? '' : `tenant_id = "${tenant}"\n`
    return `[[admin.users]]\nusername = "${username}"\npassword_hash = "${HASH}"\nrole = "${role}"\n${tenantId}`
  })
  .join('')}`

interface TokenOptions {
  readonly secret?: string
  readonly issuedAt?: number
  readonly ttlMs?: number
  readonly jti?: string
}

/** A signed token of a user. */
export function tokenOf(username: Username | 'gone', options: TokenOptions = {}): Promise<string> {
  const { secret = SECRET, issuedAt = NOW, ttlMs = 3_600_000, jti = `id of ${username}` } = options
  const claims = { username, role: 'super_admin', tenantId: undefined, jti, issuedAt, expiresAt: issuedAt + ttlMs } as const
  return signToken(claims, tokenKey(secret))
}

/** The field that proves a user. */
export async function bearer(username: Username | 'gone', options?: TokenOptions): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await tokenOf(username, options)}` }
}
