import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf } from '../../../contract/pages.ts'
import { success, text } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'
import { AdminError } from '../../../errors/errors.ts'

const MAX_DAYS = 30
const DAY_MS = 86_400_000

const silence = {
  id: z.string(),
  name: z.string(),
  site: z.nullable(z.string()),
  subject: z.string(),
  until: z.iso.datetime(),
  reason: z.string(),
  username: z.string(),
  at: z.iso.datetime(),
}

export const silences = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/alerts/silences',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the alerts that are silenced.',
  query: () => z.strictObject(pageFields()),
  response: () => success({ silences: z.array(z.object(silence)), cursor: cursorField() }),
  async handle({ alerts }, { query }) {
    const { rows, cursor } = pageOf(await alerts.silences(), query, ({ id }) => id)
    return ok({ silences: rows, cursor })
  },
})

/** A silence ends by itself, and not after years. */
function isSoon(until: string): boolean {
  const leftMs = Date.parse(until) - Date.now()
  return leftMs > 0 && leftMs <= MAX_DAYS * DAY_MS
}

export const silenceAlert = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/alerts/silences',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Silences an alert until a time: no count, no log line.',
  body: () =>
    z.strictObject({
      name: text('Name of the alert.', 200),
      site: z.optional(text('Id of the site that it is about.', 200)),
      subject: z.optional(text('The thing that it is about.', 1_000)),
      until: z.iso
        .datetime()
        .check(
          z.refine(isSoon, `must be in the future, within ${MAX_DAYS} days`),
          z.describe('End of the silence, RFC 3339 in UTC.'),
        ),
      reason: z.optional(text('A note for colleagues.', 500)),
    }),
  response: () => success(silence),
  async handle({ alerts }, { body: { name, site = null, subject = '', until, reason = '' }, caller }) {
    const { alerts: all } = await alerts.report()
    if (!all.some((one) => one.name === name && one.site === site && one.subject === subject)) {
      throw new AdminError('UNKNOWN_ALERT', { alert: [name, site, subject].filter(Boolean).join(' ') })
    }
    return ok(await alerts.silence({ name, site, subject, until, reason, username: usernameOf(caller) }))
  },
})
