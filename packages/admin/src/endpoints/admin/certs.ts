import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const certs = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/certs',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists the certificates in service, and hosts that wait for one.',
  query: () => z.strictObject(pageFields()),
  response: () => {
    const maybe = () => z.nullable(z.string())
    return success({
      certs: z.array(
        rowOf(
          z.object({
            names: z.array(z.string()),
            source: z.enum(['file', 'acme', 'self_signed']),
            state: z.enum(['valid', 'not_yet_valid', 'expired', 'pending', 'failed']),
            issuer: maybe(),
            not_before: maybe(),
            not_after: maybe(),
            file: maybe(),
            reason: maybe(),
          }),
        ),
      ),
      cursor: cursorField(),
    })
  },
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await plane.fleet.certificates(), query, ({ names, file }) => JSON.stringify([names, file]))
    return ok({ certs: rows, cursor })
  },
})
