import { clearedSessionCookie, sessionCookie, type User } from '@svc/auth'
import type { IssueReply, SessionRecord } from '@svc/protocol'
import * as z from 'zod/mini'
import type { Sessions } from '../contract/control-plane.ts'
import { type EndpointRequest, type EndpointResult, ok } from '../contract/endpoint.ts'
import { cursorField } from '../contract/pages.ts'
import { success } from '../contract/schemas.ts'
import { AdminError } from '../errors/errors.ts'

type Client = EndpointRequest<unknown, unknown>['client']
type Refusal = NonNullable<IssueReply['refused']>

const shownUser = z.object({ username: z.string(), role: z.string(), tenant_id: z.nullable(z.string()) })

/** Users in responses. */
export const usersResponse = () => success({ users: z.array(shownUser), cursor: cursorField() })
/** The session of the caller. */
export const sessionResponse = () => success({ user: shownUser, expires_at: z.iso.datetime() })
/** A session that begins. */
export const loginResponse = () => success({ token: z.string(), expires_at: z.iso.datetime(), user: shownUser })

/** A user as responses show it. */
export function showUser({ username, role, tenantId }: User) {
  return { username, role, tenant_id: tenantId ?? null }
}

/** A time in milliseconds since the epoch as responses show it. */
export function showTime(ms: number): string {
  return new Date(ms).toISOString()
}

const refusals: Readonly<Record<Refusal, { readonly status: number; readonly code: string; readonly detail: string }>> = {
  credentials: { status: 401, code: 'bad_credentials', detail: 'the username or the password is wrong' },
  throttled: { status: 429, code: 'too_many_logins', detail: 'too many logins failed: try again later' },
  not_available: { status: 409, code: 'logins_off', detail: 'admin.enabled is false, or admin.jwt_secret is not set' },
  unknown_user: { status: 404, code: 'unknown_user', detail: 'the configuration has no such user' },
  not_a_session: { status: 409, code: 'not_a_session', detail: 'only a session that a login began can be refreshed' },
}

/** The response to a request for a session or token that was refused. */
export function refusedAnswer({ refused = 'not_available', retryAfterSecs = 1 }: IssueReply): EndpointResult {
  const problem = refusals[refused]
  if (refused === 'credentials') return { problem, headers: [['www-authenticate', 'Bearer']] }
  return refused === 'throttled' ? { problem, headers: [['retry-after', `${retryAfterSecs}`]] } : { problem }
}

/** The response that begins a session. Only a host of the panel gets the cookie: elsewhere it would not count. */
export function loginAnswer(reply: IssueReply, { isAdminHost, isSecure }: Client): EndpointResult {
  if (reply.issued === undefined) return refusedAnswer(reply)
  const { token, issuedAt, expiresAt, user } = reply.issued
  const answer = ok({ token, expires_at: showTime(expiresAt), user: showUser(user) })
  if (!isAdminHost) return answer
  return { ...answer, headers: [['set-cookie', sessionCookie(token, (expiresAt - issuedAt) / 1000, isSecure)]] }
}

/** The response that ends the session of the caller. */
export function logoutAnswer({ isAdminHost, isSecure }: Client): EndpointResult {
  return { ...ok({}), headers: isAdminHost ? [['set-cookie', clearedSessionCookie(isSecure)]] : [] }
}

/** Ends a session or token that is on record. @throws UNKNOWN_SESSION */
export async function revokeOnRecord(sessions: Sessions, kind: SessionRecord['kind'], jti: string): Promise<void> {
  const isOnRecord = (await sessions.list()).some((record) => record.jti === jti && record.kind === kind)
  if (!isOnRecord || !(await sessions.revoke({ jti }))) throw new AdminError('UNKNOWN_SESSION', { kind, jti })
}
