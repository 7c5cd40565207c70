import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'
import { revokeOnRecord } from '../../session-answer.ts'

export const revokeToken = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/tokens/:jti',
  group: 'admin',
  access: 'super_admin',
  summary: 'Ends an issued token, on every worker and for good.',
  response: () => success({}),
  handle: async (plane, { params }) => {
    await revokeOnRecord(plane.sessions, 'token', params['jti'] ?? '')
    return ok({})
  },
})
