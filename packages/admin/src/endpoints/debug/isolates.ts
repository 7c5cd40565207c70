import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { isolateSchema, poolSchema } from '../site-facts.ts'

export const isolates = endpoint({
  method: 'GET',
  path: '/__svc/debug/isolates',
  group: 'debug',
  access: 'loopback',
  summary: 'Lists isolates, and the render threads of hosts by site.',
  response: () => success({ isolates: z.array(isolateSchema()), pools: z.array(poolSchema()), missing: z.array(z.string()) }),
  async handle({ renderers }) {
    const [{ isolates, missing }, pools] = await Promise.all([renderers.isolates(), renderers.pools()])
    return ok({ isolates, pools, missing })
  },
})
