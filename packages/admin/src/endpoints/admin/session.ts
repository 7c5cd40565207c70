import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireUser } from '../../contract/scope.ts'
import { sessionResponse, showTime, showUser } from '../session-answer.ts'

export const session = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/session',
  group: 'admin',
  access: 'viewer',
  summary: 'Shows the user of the caller, and when its session or token ends.',
  response: sessionResponse,
  handle(_plane, { caller }) {
    const { user, expiresAt } = requireUser(caller)
    return ok({ user: showUser(user), expires_at: showTime(expiresAt) })
  },
})
