import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

const share = () =>
  z.object({ label: z.string(), cache_weight: z.number(), entries: z.int(), bytes: z.int(), evictions: z.int() })
const store = () => ({ entries: z.int(), bytes: z.int(), max_bytes: z.int(), sites: z.array(share()) })

export const cacheStats = endpoint({
  method: 'GET',
  path: '/__svc/cache/stats',
  group: 'cache',
  access: 'loopback',
  summary: 'Statistics of all cache layers.',
  response: () =>
    success({
      l0: z.object({ entries: z.int(), bytes: z.int(), max_bytes: z.int(), workers: z.int() }),
      isr: z.object({ ...store(), max_entries: z.int() }),
      proxy: z.object(store()),
      isolates: z.object({ hosts: z.int(), threads: z.int() }),
      leases: z.object({ held: z.int(), waiting: z.int() }),
      purges: z.object({ last: z.int(), unsettled: z.int() }),
    }),
  handle: async (plane) => ok(await plane.purges.stats()),
})
