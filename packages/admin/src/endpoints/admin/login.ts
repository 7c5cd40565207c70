import { sessionLimits } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint } from '../../contract/endpoint.ts'
import { text } from '../../contract/schemas.ts'
import { loginAnswer, loginResponse } from '../session-answer.ts'

export const login = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/login',
  group: 'admin',
  access: 'open',
  summary: 'Begins a session: gives a token, and sets the cookie on a host of the panel.',
  body: () =>
    z.strictObject({
      username: text('Name of the user.', sessionLimits.username),
      password: text('Password of the user.', sessionLimits.password),
    }),
  response: loginResponse,
  handle: async (plane, { body, client }) => {
    const { address, userAgent } = client
    return loginAnswer(await plane.sessions.login({ ...body, address, userAgent }), client)
  },
})
