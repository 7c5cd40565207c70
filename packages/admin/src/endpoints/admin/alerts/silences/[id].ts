import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { success } from '../../../../contract/schemas.ts'
import { AdminError } from '../../../../errors/errors.ts'

export const endSilence = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/alerts/silences/:id',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Ends the silence of an alert.',
  response: () => success({}),
  async handle({ alerts }, { params: { id = '' } }) {
    if (!(await alerts.endSilence(id))) throw new AdminError('UNKNOWN_SILENCE', { id })
    return ok({})
  },
})
