import { endpoint } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { requireUser } from '../../contract/scope.ts'
import { logoutAnswer } from '../session-answer.ts'

export const logout = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/logout',
  group: 'admin',
  access: 'viewer',
  summary: 'Ends the session or token of the caller, on every worker and for good.',
  response: () => success({}),
  async handle(plane, { caller, client }) {
    const { jti, expiresAt, user } = requireUser(caller)
    await plane.sessions.revoke({ jti, holder: { username: user.username, expiresAt } })
    return logoutAnswer(client)
  },
})
