import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const rateLimit = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/rate-limit',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists clients that are near or over their budget.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      enabled: z.boolean(),
      budget: z.int().check(z.describe('Requests of a client in each window.')),
      window_secs: z.int(),
      distributed: z.boolean(),
      counted: z.int().check(z.describe('Clients that this instance counts, listed or not.')),
      clients: z.array(
        z.object({
          client: z.string().check(z.describe('Address, or network of IPv6.')),
          requests: z.int().check(z.describe('In the last window, through this instance.')),
          refused: z.int(),
          retry_after_secs: z.int().check(z.describe('0: a request may pass now.')),
        }),
      ),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { clients, ...settings } = await plane.fleet.countedClients()
    const { rows, cursor } = pageOf(clients, query, ({ client }) => client)
    return ok({ ...settings, clients: rows, cursor })
  },
})
