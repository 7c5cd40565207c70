import { createHash } from 'node:crypto'
import { newTokenId, signToken, type TokenKey, tokenKey, type User } from '@svc/auth'
import type { Config } from '@svc/config'
import { asError, type Clock, setNewest } from '@svc/core'
import {
  type IssueReply,
  type LoginRequest,
  type RefreshRequest,
  type Revocations,
  type RevokeRequest,
  type SessionRecord,
  sessionLimits,
  type TokenRequest,
} from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { type ConfiguredUser, Logins, publicUser } from './logins.ts'
import type { SessionStore } from './session-store.ts'

/** Dependencies of `Sessions`. */
interface SessionsOptions {
  readonly store: SessionStore
  /** `[admin]` of the configuration in service: secret and users follow a reload. */
  readonly admin: () => Config['admin']
  /** Resolves when no worker accepts these tokens any more, and the other instances have been told. */
  readonly announce: (revocations: Revocations) => Promise<void>
  readonly clock: Clock
  readonly logger: Logger
}

/** Tells password hashes apart. */
function digestOf({ password_hash: hash }: ConfiguredUser): string {
  return createHash('sha256').update(hash).digest('base64url')
}

/** Refreshes that are remembered: longer than a logout with the session before can be on its way. */
const MAX_REFRESHES = 1_000

/** A session that another takes the place of. */
interface Refresh {
  /** The session before was ended meanwhile, by a logout. */
  isEnded: boolean
  /** Id of the new session. */
  successor?: string
}

type Sender = Pick<SessionRecord, 'address' | 'userAgent'>

/** Begins and ends sessions of administrators, and tokens for programs. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #logins: Logins
  /** By the id of the session before. */
  readonly #refreshes = new Map<string, Refresh>()
  #lastKey: { readonly secret: string; readonly key: TokenKey } | undefined

  constructor(options: SessionsOptions) {
    const { store, admin, clock, logger } = options
    this.#options = options
    this.#logins = new Logins({ users: () => admin().users, networks: store.networks, clock, logger })
  }

  /** Sessions and tokens that are accepted, the latest first. */
  list(): SessionRecord[] {
    return this.#options.store.records.toSorted((one, other) => other.issuedAt - one.issuedAt)
  }

  /** @throws SUP_SESSIONS if it cannot be recorded */
  async login(request: LoginRequest): Promise<IssueReply> {
    if (this.#key() === undefined) return { refused: 'not_available' }
    const outcome = await this.#logins.prove(request)
    if (outcome.kind === 'throttled') return { refused: 'throttled', retryAfterSecs: outcome.retryAfterSecs }
    if (outcome.kind === 'credentials') return { refused: 'credentials' }
    const { username, password_hash: hash } = outcome.user
    // A reload may have changed the user while the password was verified.
    const user = this.#configured(username)
    if (user?.password_hash !== hash) return { refused: 'credentials' }
    return this.#issue('session', publicUser(user), this.#options.admin().session_ttl_secs, request)
  }

  /**
   * Puts a new session in the place of one: one alone, though several requests ask for it at the same time, and none if a logout
   * overtakes it. @throws SUP_SESSIONS
   */
  async refresh({ jti, username, ...sender }: RefreshRequest): Promise<IssueReply> {
    const { store, admin } = this.#options
    const user = this.#userOf(username)
    if (user === undefined) return { refused: 'unknown_user' }
    const before = store.record(jti)
    const isOwn = before?.kind === 'session' && before.username === username
    if (!isOwn || this.#refreshes.has(jti)) return { refused: 'not_a_session' }
    const refresh: Refresh = { isEnded: false }
    setNewest(this.#refreshes, jti, refresh, MAX_REFRESHES)
    try {
      const reply = await this.#issue('session', user, admin().session_ttl_secs, sender)
      if (reply.issued !== undefined) refresh.successor = reply.issued.jti
      if (refresh.successor === undefined) return reply
      await this.#revoke({ jti: refresh.isEnded ? refresh.successor : jti })
      return refresh.isEnded ? { refused: 'not_a_session' } : reply
    } finally {
      // It failed, and may be tried again.
      if (refresh.successor === undefined) this.#refreshes.delete(jti)
    }
  }

  /** Makes a token of a user. @throws SUP_SESSIONS */
  async issueToken({ username, ttlSecs, ...sender }: TokenRequest): Promise<IssueReply> {
    const user = this.#userOf(username)
    return user === undefined ? { refused: 'unknown_user' } : this.#issue('token', user, ttlSecs, sender)
  }

  /**
   * Ends a session or token, and the session that took its place by a refresh on its way. Resolves when no worker accepts it any more,
   * and a restart does not forget that. False: it is unknown.
   * @throws SUP_SESSIONS if a restart would forget it
   */
  async revoke(request: RevokeRequest): Promise<boolean> {
    const refresh = this.#refreshes.get(request.jti)
    if (refresh !== undefined) refresh.isEnded = true
    const successor = refresh?.successor
    const [isFound] = await Promise.all([
      this.#revoke(request),
      successor === undefined ? undefined : this.revoke({ jti: successor }),
    ])
    return isFound
  }

  async #revoke(request: RevokeRequest): Promise<boolean> {
    const revoked = this.#options.store.revoke(request)
    if (revoked === undefined) return false
    await Promise.all([revoked.saved, this.#options.announce(revoked.ended)])
    return true
  }

  /**
   * Ends the sessions and tokens of users who were removed or have another password than at the last call, also in an earlier run.
   * Call it at the start and when another configuration is in service: a login that follows counts. Resolves when no worker accepts
   * the tokens any more. Never rejects: the next start notices the change too if it cannot be saved.
   */
  async followUsers(): Promise<void> {
    const { store, admin, announce, logger } = this.#options
    const changed = store.followPasswords(new Map(admin().users.map((user) => [user.username, digestOf(user)])))
    if (changed === undefined) return
    const { ended, saved } = changed
    for (const { username } of ended.users) {
      logger.info({ username }, 'sessions and tokens of a user have ended: password_hash was changed, or the user removed')
    }
    const saving = saved.catch((error) => logger.error({ err: asError(error) }, 'failed to save that sessions have ended'))
    await Promise.all([saving, ended.users.length > 0 ? announce(ended) : undefined])
  }

  async #issue(kind: SessionRecord['kind'], user: User, ttlSecs: number, sender: Sender): Promise<IssueReply> {
    const { store, announce } = this.#options
    const key = this.#key()
    if (key === undefined) return { refused: 'not_available' }
    const issuedAt = store.issueTime(user.username)
    const times = { jti: newTokenId(), issuedAt, expiresAt: issuedAt + ttlSecs * 1000 }
    const token = await signToken({ ...user, ...times }, key)
    const { address, userAgent } = sender
    const { username, role } = user
    const record = { kind, username, role, ...times, address, userAgent: userAgent.slice(0, sessionLimits.userAgent) }
    const ended = await store.add(record, this.#logins.networks)
    if (ended !== undefined) await announce(ended)
    return { issued: { token, ...times, user } }
  }

  #userOf(username: string): User | undefined {
    const found = this.#configured(username)
    return found === undefined ? undefined : publicUser(found)
  }

  #configured(username: string): ConfiguredUser | undefined {
    return this.#options.admin().users.find((user) => user.username === username)
  }

  /** Undefined: the panel is off. */
  #key(): TokenKey | undefined {
    const { enabled, jwt_secret: secret } = this.#options.admin()
    if (!enabled || secret === undefined) return undefined
    if (this.#lastKey?.secret !== secret) this.#lastKey = { secret, key: tokenKey(secret) }
    return this.#lastKey.key
  }
}
