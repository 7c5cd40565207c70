import { clientNetwork } from '@svc/http'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { invalidField } from '../../../contract/refusals.ts'
import { success } from '../../../contract/schemas.ts'

export const unblockClient = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/rate-limit/:ip',
  group: 'admin',
  access: 'super_admin',
  summary: 'Gives a client its budget back.',
  response: () => success({ client: z.string() }),
  async handle(plane, { params: { ip = '' } }) {
    // As the list names a network.
    const client = clientNetwork(ip.endsWith('/64') ? ip.slice(0, -3) : ip)
    if (client === '') {
      return invalidField('ip', `"${ip}" is not an IP address`)
    }
    if (await plane.fleet.unblock(client)) return ok({ client })
    const detail = `no requests of ${client} were counted in the last minute`
    return { problem: { status: 404, code: 'unknown_client', detail } }
  },
})
