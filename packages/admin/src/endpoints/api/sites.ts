import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { siteFacts, siteFields } from '../site-facts.ts'

export const sites = endpoint({
  method: 'GET',
  path: '/__svc/api/sites',
  group: 'api',
  access: 'loopback',
  summary: 'Lists the sites with their state.',
  response: () => success({ sites: z.array(z.object(siteFields())) }),
  handle: async (plane) => ok({ sites: await siteFacts(plane, plane.sites.list()) }),
})
