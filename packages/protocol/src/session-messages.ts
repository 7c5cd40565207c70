import { CoreError, type Guarded, guard } from '@svc/core'

/** A text that comes from a client, directly or not. */
function bounded(maxLength: number): guard.Guard<string> {
  return (value, path = 'message') => {
    const text = guard.string(value, path)
    if (text.length > maxLength) throw new CoreError('CORE_PROTOCOL', `${path}: expected at most ${maxLength} characters`)
    return text
  }
}

/** A whole number of seconds. */
const ttlSecs: guard.Guard<number> = (value, path = 'message') => {
  const seconds = guard.number(value, path)
  const isInRange = Number.isInteger(seconds) && seconds >= 1 && seconds <= sessionLimits.ttlSecs
  if (!isInRange) throw new CoreError('CORE_PROTOCOL', `${path}: expected 1 to ${sessionLimits.ttlSecs} seconds`)
  return seconds
}

/** Longest texts of sessions in characters, and the longest lifetime of a token. Longer user agents are cut. */
export const sessionLimits = { username: 256, password: 1_024, userAgent: 512, ttlSecs: 365 * 86_400 } as const

const username = bounded(sessionLimits.username)
const jti = bounded(64)
const address = bounded(64)
const userAgent = bounded(sessionLimits.userAgent)
const role = guard.oneOf('viewer', 'tenant_admin', 'super_admin')

/** The client that asks for a session or token. */
const sender = { address, userAgent }

/** A login with a password. */
export const loginRequest = guard.object({ username, password: bounded(sessionLimits.password), ...sender })
export type LoginRequest = Guarded<typeof loginRequest>

/** A session that gets a successor. */
export const refreshRequest = guard.object({ jti, username, ...sender })
export type RefreshRequest = Guarded<typeof refreshRequest>

/** A token for any configured user. */
export const tokenRequest = guard.object({ username, ttlSecs, ...sender })
export type TokenRequest = Guarded<typeof tokenRequest>

/** A new session or token. Times in milliseconds since the epoch. */
const issuedToken = guard.object({
  token: guard.string,
  jti: guard.string,
  issuedAt: guard.number,
  expiresAt: guard.number,
  user: guard.object({ username: guard.string, role, tenantId: guard.optional(guard.string) }),
})

/**
 * The answer to a request for a session or token. `not_available`: the panel is off, or nothing can be signed; `unknown_user`: the
 * configuration has no such user; `not_a_session`: only a session of a login can be refreshed.
 */
export const issueReply = guard.object({
  issued: guard.optional(issuedToken),
  refused: guard.optional(guard.oneOf('credentials', 'throttled', 'not_available', 'unknown_user', 'not_a_session')),
  /** Set with `throttled`. */
  retryAfterSecs: guard.optional(guard.number),
})
export type IssueReply = Guarded<typeof issueReply>

/** A session of a login, or a token that was issued for use by programs. Times in milliseconds since the epoch. */
export const sessionRecord = guard.object({
  jti,
  kind: guard.oneOf('session', 'token'),
  username,
  role,
  issuedAt: guard.number,
  expiresAt: guard.number,
  ...sender,
})
export type SessionRecord = Guarded<typeof sessionRecord>

/** A token that is to end before its time. */
export const revokeRequest = guard.object({
  jti,
  /** Of a verified token, which may be one that the command line signed; undefined: only one on record can be revoked. */
  holder: guard.optional(guard.object({ username, expiresAt: guard.number })),
})
export type RevokeRequest = Guarded<typeof revokeRequest>

/** Tokens that must not be accepted, added to those that are known. Times in milliseconds since the epoch. */
export const revocations = guard.object({
  tokens: guard.arrayOf(guard.object({ jti, username, expiresAt: guard.number })),
  /** Tokens of these users that were issued earlier. */
  users: guard.arrayOf(guard.object({ username, issuedBefore: guard.number })),
  /** All tokens that were issued earlier. */
  issuedBefore: guard.number,
})
export type Revocations = Guarded<typeof revocations>
