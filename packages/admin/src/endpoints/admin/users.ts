import { endpoint, ok } from '../../contract/endpoint.ts'
import { showUser, usersResponse } from '../session-answer.ts'

export const users = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/users',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the users of the configuration.',
  response: usersResponse,
  handle: async (plane) => ok({ users: (await plane.sessions.users()).map(showUser) }),
})
