import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { showTime } from '../session-answer.ts'

export const sessions = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/sessions',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists sessions and issued tokens that are accepted, the latest first.',
  response: () =>
    success({
      sessions: z.array(
        z.object({
          jti: z.string(),
          kind: z.enum(['session', 'token']),
          username: z.string(),
          role: z.string(),
          issued_at: z.iso.datetime(),
          expires_at: z.iso.datetime(),
          address: z.string(),
          user_agent: z.string(),
        }),
      ),
    }),
  handle: async (plane) =>
    ok({
      sessions: (await plane.sessions.list()).map(({ issuedAt, expiresAt, userAgent, ...record }) => ({
        ...record,
        issued_at: showTime(issuedAt),
        expires_at: showTime(expiresAt),
        user_agent: userAgent,
      })),
    }),
})
