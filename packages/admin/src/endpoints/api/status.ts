import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const status = endpoint({
  method: 'GET',
  path: '/__svc/api/status',
  group: 'api',
  access: 'loopback',
  summary: 'Shows version, generation, processes, pools of isolates and the last reload.',
  response: () =>
    success({
      version: z.string(),
      generation: z.int(),
      uptime_secs: z.int(),
      workers: z.array(z.looseObject({ id: z.int(), pid: z.int(), state: z.string() })),
      hosts: z.array(z.looseObject({ id: z.string(), pid: z.int(), state: z.string() })),
      pools: z.array(z.looseObject({ host: z.string(), site: z.string() })),
      last_reload: z.nullable(z.object({ at: z.string(), ok: z.boolean(), errors: z.array(z.string()) })),
    }),
  async handle(plane) {
    const [{ sites: _, ...report }, pools] = await Promise.all([plane.instance.status(), plane.renderers.isolates()])
    return ok({ ...report, pools })
  },
})
