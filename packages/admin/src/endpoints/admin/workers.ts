import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

export const workers = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/workers',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Lists the connection workers and the render hosts.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      workers: z.array(
        rowOf(
          z.object({
            id: z.string(),
            kind: z.enum(['connection', 'render']),
            pid: z.int(),
            state: z.string(),
            generation: z.optional(z.int()),
            connections: z.optional(z.int()),
            name: z.optional(z.string()),
            sites: z.optional(z.array(z.string())),
          }),
        ),
      ),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { workers: connection, hosts } = await plane.instance.status()
    const all = [
      ...connection.map((worker) => ({ ...worker, id: `w${worker.id}`, kind: 'connection' })),
      ...hosts.map((host, index) => ({ ...host, id: `h${index + 1}`, kind: 'render', name: host.id })),
    ]
    const { rows, cursor } = pageOf(all, query, ({ id }) => id)
    return ok({ workers: rows, cursor })
  },
})
