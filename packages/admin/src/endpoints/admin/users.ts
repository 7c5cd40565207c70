import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { pageFields, pageOf } from '../../contract/pages.ts'
import { showUser, usersResponse } from '../session-answer.ts'

export const users = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/users',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the users of the configuration.',
  query: () => z.strictObject(pageFields()),
  response: usersResponse,
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await plane.sessions.users(), query, ({ username }) => username)
    return ok({ users: rows.map(showUser), cursor })
  },
})
