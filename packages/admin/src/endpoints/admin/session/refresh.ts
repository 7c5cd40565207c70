import { endpoint } from '../../../contract/endpoint.ts'
import { requireUser } from '../../../contract/scope.ts'
import { loginAnswer, loginResponse } from '../../session-answer.ts'

export const refreshSession = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/session/refresh',
  group: 'admin',
  access: 'viewer',
  summary: 'Begins a session in place of the one of the caller, which ends.',
  response: loginResponse,
  async handle(plane, { caller, client }) {
    const { jti, user } = requireUser(caller)
    const { address, userAgent } = client
    return loginAnswer(await plane.sessions.refresh({ jti, username: user.username, address, userAgent }), client)
  },
})
