/** Roles from the least to the most powerful. */
export const roles = ['viewer', 'tenant_admin', 'super_admin'] as const
export type Role = (typeof roles)[number]

/** A configured user. */
export interface User {
  readonly username: string
  readonly role: Role
  /** Set for a tenant_admin only. */
  readonly tenantId?: string | undefined
}

/** The sender of a request. */
export type Caller =
  | {
      readonly kind: 'anonymous'
      /**
       * `ended`: it carries one that this instance signed and accepts no more. `of_two_users`: its session cookies are of two users.
       * With both the server answers 401, whatever the site defines.
       */
      readonly token: 'none' | 'ended' | 'of_two_users'
    }
  /** The machine itself, without credentials that count. */
  | { readonly kind: 'machine' }
  | {
      readonly kind: 'user'
      readonly user: User
      /** Id of the session or token. */
      readonly jti: string
      /** End of the token, in milliseconds since the epoch. */
      readonly expiresAt: number
      /** Way of the token. A cookie is sent by browsers without asking, so mutations need more than it. */
      readonly by: 'bearer' | 'cookie'
    }

export const anonymous: Caller = Object.freeze({ kind: 'anonymous', token: 'none' })
export const machine: Caller = Object.freeze({ kind: 'machine' })

/** Callers that an endpoint admits. */
export interface AccessRule {
  /**
   * `open`: everyone. `loopback`: the machine itself, and from elsewhere users with the role super_admin. A role: users of at least
   * that role, from the machine itself too.
   */
  readonly access: 'open' | 'loopback' | Role
  /** True: a tenant_admin may call it too, and its handler cuts the request to the tenant. */
  readonly isForTenants: boolean
}

/** Decides on a call: 401 asks for credentials, 403 says that these are not enough. */
export function decideAccess({ access, isForTenants }: AccessRule, caller: Caller): 'allow' | 401 | 403 {
  if (access === 'open' || (access === 'loopback' && caller.kind === 'machine')) return 'allow'
  if (caller.kind !== 'user') return 401
  const { role } = caller.user
  if (role === 'tenant_admin' && !isForTenants) return 403
  // From elsewhere such a call takes an administrator: of all of the machine, or of a tenant if the endpoint cuts to one.
  const least = access !== 'loopback' ? access : isForTenants ? 'tenant_admin' : 'super_admin'
  return roles.indexOf(role) >= roles.indexOf(least) ? 'allow' : 403
}
