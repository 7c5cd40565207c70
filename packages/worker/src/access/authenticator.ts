import { anonymous, type Caller, readCredentials, type TokenKey, tokenKey, type User, verifyToken } from '@svc/auth'
import type { Config } from '@svc/config'
import type { HeaderList } from '@svc/http'
import type { RevocationList } from './revocation-list.ts'

const endedToken: Caller = Object.freeze({ kind: 'anonymous', hasEndedToken: true })

/** Identifies the senders of requests by their tokens, with the users of one configuration. */
export class Authenticator {
  readonly #users: ReadonlyMap<string, User>
  readonly #key: TokenKey | undefined

  constructor({ users, jwt_secret: secret }: Pick<Config['admin'], 'users' | 'jwt_secret'>) {
    this.#key = secret === undefined ? undefined : tokenKey(secret)
    this.#users = new Map(
      users.map(({ username, role, tenant_id: tenantId }) => [username, { username, role, tenantId }] as const),
    )
  }

  /**
   * The sender of a request; resolves with `anonymous` when no credentials count. The current role of the user counts, not the one
   * in the token.
   * @param mayUseCookie false: a session cookie does not count on this host
   */
  async identify(headers: HeaderList, mayUseCookie: boolean, revocations: RevocationList): Promise<Caller> {
    const credentials = readCredentials(headers)
    if (this.#key === undefined || credentials === undefined || (credentials.by === 'cookie' && !mayUseCookie)) return anonymous
    const claims = await verifyToken(credentials.token, this.#key, Date.now())
    if (claims === 'expired') return endedToken
    if (typeof claims === 'string') return anonymous
    const user = this.#users.get(claims.username)
    if (user === undefined || revocations.isRevoked(claims)) return endedToken
    return { kind: 'user', user, jti: claims.jti, expiresAt: claims.expiresAt, by: credentials.by }
  }
}
