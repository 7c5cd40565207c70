import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'
import { showTime } from '../session-answer.ts'

export const sessions = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/sessions',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists sessions and issued tokens that are accepted, the latest first.',
  query: () => z.strictObject(pageFields()),
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
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await plane.sessions.list(), query, ({ jti }) => jti)
    const listed = rows.map(({ issuedAt, expiresAt, userAgent, ...record }) => ({
      ...record,
      issued_at: showTime(issuedAt),
      expires_at: showTime(expiresAt),
      user_agent: userAgent,
    }))
    return ok({ sessions: listed, cursor })
  },
})
