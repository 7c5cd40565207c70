import { sessionLimits } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { integer, success, text } from '../../contract/schemas.ts'
import { refusedAnswer, showTime } from '../session-answer.ts'

export const issueToken = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/tokens',
  group: 'admin',
  access: 'super_admin',
  summary: 'Makes a bearer token of a user, for programs.',
  body: () =>
    z.strictObject({
      username: text('Name of the user.', sessionLimits.username),
      ttl_secs: integer('Lifetime of the token in seconds, a year at most.', 1, sessionLimits.ttlSecs),
    }),
  response: () => success({ token: z.string(), jti: z.string(), expires_at: z.iso.datetime() }),
  async handle(plane, { body, client }) {
    const { address, userAgent } = client
    const reply = await plane.sessions.issueToken({ username: body.username, ttlSecs: body.ttl_secs, address, userAgent })
    if (reply.issued === undefined) return refusedAnswer(reply)
    const { token, jti, expiresAt } = reply.issued
    return ok({ token, jti, expires_at: showTime(expiresAt) })
  },
})
