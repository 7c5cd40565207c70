import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const config = endpoint({
  method: 'GET',
  path: '/__svc/api/config',
  group: 'api',
  access: 'loopback',
  summary: 'Shows the effective configuration, secrets as `***`.',
  response: () => success({ generation: z.int(), config: z.looseObject({}) }),
  handle: async (plane) => ok({ generation: plane.sites.generation(), config: await plane.instance.config() }),
})
