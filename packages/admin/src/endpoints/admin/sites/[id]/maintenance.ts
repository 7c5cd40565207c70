import { MAINTENANCE_RETRY_SECS } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { requireSite } from '../../../../contract/own-sites.ts'
import { integer, success, text } from '../../../../contract/schemas.ts'
import { usernameOf } from '../../../../contract/scope.ts'

const A_DAY_SECS = 86_400

export const maintenance = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/sites/:id/maintenance',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Takes a site out of service with 503, or back into it.',
  body: () =>
    z.strictObject({
      enabled: z.boolean().check(z.describe('True: every request to the site gets 503.')),
      message: z.optional(text('Plain text of the response.', 500)),
      retry_after_secs: z.optional(
        integer(`Seconds of Retry-After; ${MAINTENANCE_RETRY_SECS} if it is left out.`, 1, A_DAY_SECS),
      ),
    }),
  response: () => success({ site: z.string(), maintenance: z.boolean() }),
  async handle(plane, { params, body, caller }) {
    const { id: site } = requireSite(plane.sites, params['id'] ?? '')
    const { enabled, message, retry_after_secs = MAINTENANCE_RETRY_SECS } = body
    await plane.sites.setMaintenance(site, enabled ? { message, retry_after_secs } : null, usernameOf(caller))
    return ok({ site, maintenance: enabled })
  },
})
