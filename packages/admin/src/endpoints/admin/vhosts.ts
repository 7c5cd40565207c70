import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'
import { vhostSchema } from '../site-facts.ts'

export const vhosts = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/vhosts',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the servers of vhost files with their locations.',
  query: () => z.strictObject(pageFields()),
  response: () => success({ vhosts: z.array(rowOf(vhostSchema())), cursor: cursorField() }),
  handle(plane, { query }) {
    const { rows, cursor } = pageOf(plane.sites.vhosts(), query, ({ place }) => place)
    return ok({ vhosts: rows, cursor })
  },
})
