import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success, text } from '../../../contract/schemas.ts'
import { AdminError } from '../../../errors/errors.ts'

export const renewCert = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/certs/renew',
  group: 'admin',
  access: 'super_admin',
  summary: 'Orders a new automatic certificate for a host.',
  query: () => z.strictObject({ host: text('Host name.', 253) }),
  response: () => success({ host: z.string() }),
  async handle(plane, { query }) {
    const host = query.host.toLowerCase()
    const outcome = await plane.fleet.renew(host)
    if (outcome === 'ordered') return ok({ host }, 202)
    if (outcome === 'unknown' && plane.sites.ofHost(host) !== undefined) {
      const detail =
        'This host gets no automatic certificate. Turn tls.auto on; wildcards, local names and hosts whose certificate is in a file get none.'
      return { problem: { status: 409, code: 'no_automatic_certificate', detail } }
    }
    if (outcome === 'unknown') throw new AdminError('UNKNOWN_HOST', { host })
    const detail = 'The certificate of this host is in a file. Replace the file and reload.'
    return { problem: { status: 409, code: 'certificate_of_file', detail } }
  },
})
