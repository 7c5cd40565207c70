import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { poolSchema } from '../site-facts.ts'

export const isolates = endpoint({
  method: 'GET',
  path: '/__svc/debug/isolates',
  group: 'debug',
  access: 'loopback',
  summary: 'Lists render threads by host and site.',
  response: () => success({ pools: z.array(poolSchema()) }),
  handle: async (plane) => ok({ pools: await plane.renderers.isolates() }),
})
