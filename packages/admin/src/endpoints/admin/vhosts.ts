import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { vhostSchema } from '../site-facts.ts'

export const vhosts = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/vhosts',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the servers of vhost files with their locations.',
  response: () => success({ vhosts: z.array(vhostSchema()) }),
  handle: (plane) => ok({ vhosts: plane.sites.vhosts() }),
})
