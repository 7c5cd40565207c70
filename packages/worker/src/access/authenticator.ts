import { anonymous, type Caller, readCredentials, type TokenKey, tokenKey, type User, verifyToken } from '@svc/auth'
import type { Config } from '@svc/config'
import type { HeaderList } from '@svc/http'
import type { RevocationList } from './revocation-list.ts'

const endedToken: Caller = Object.freeze({ kind: 'anonymous', token: 'ended' })
const ofTwoUsers: Caller = Object.freeze({ kind: 'anonymous', token: 'of_two_users' })

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
   * in the token. Of several session cookies those that do not count are passed over: a page of another host of the same domain can
   * set cookies for ours, but neither end a session by that nor put another in its place.
   * @param mayUseCookie false: a session cookie does not count on this host
   */
  async identify(headers: HeaderList, mayUseCookie: boolean, revocations: RevocationList): Promise<Caller> {
    const credentials = readCredentials(headers)
    if (this.#key === undefined || credentials === undefined || (credentials.by === 'cookie' && !mayUseCookie)) return anonymous
    let found: Caller = anonymous
    for (const token of credentials.tokens) {
      const caller = await this.#callerOf(token, credentials.by, this.#key, revocations)
      if (caller.kind !== 'user') found = found.kind === 'user' || caller === anonymous ? found : caller
      else if (found.kind !== 'user') found = caller
      else if (found.user !== caller.user) return ofTwoUsers
    }
    return found
  }

  async #callerOf(token: string, by: 'bearer' | 'cookie', key: TokenKey, revocations: RevocationList): Promise<Caller> {
    const claims = await verifyToken(token, key, Date.now())
    if (claims === 'expired') return endedToken
    if (typeof claims === 'string') return anonymous
    const user = this.#users.get(claims.username)
    if (user === undefined || revocations.isRevoked(claims)) return endedToken
    return { kind: 'user', user, jti: claims.jti, expiresAt: claims.expiresAt, by }
  }
}
