import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'
import { revokeOnRecord } from '../../session-answer.ts'

export const endSession = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/sessions/:jti',
  group: 'admin',
  access: 'super_admin',
  summary: 'Ends a session, on every worker and for good.',
  response: () => success({}),
  handle: async (plane, { params }) => {
    await revokeOnRecord(plane.sessions, 'session', params['jti'] ?? '')
    return ok({})
  },
})
