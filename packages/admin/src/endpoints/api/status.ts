import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { poolSchema } from '../site-facts.ts'

const process = () => ({ pid: z.int(), state: z.string() })

export const status = endpoint({
  method: 'GET',
  path: '/__svc/api/status',
  group: 'api',
  access: 'loopback',
  summary: 'Shows version, generation, processes, pools of isolates and the last reload.',
  response: () =>
    success({
      pid: z.int(),
      version: z.string(),
      generation: z.int(),
      uptime_secs: z.int(),
      listen: z.array(z.string()),
      workers: z.array(z.object({ ...process(), id: z.int(), generation: z.int(), connections: z.int() })),
      hosts: z.array(z.object({ ...process(), id: z.string(), sites: z.array(z.string()) })),
      pools: z.array(poolSchema()),
      last_reload: z.nullable(z.object({ at: z.string(), ok: z.boolean(), errors: z.array(z.string()) })),
    }),
  async handle(plane) {
    const [{ sites: _, ...report }, pools] = await Promise.all([plane.instance.status(), plane.renderers.pools()])
    return ok({ ...report, pools })
  },
})
