import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { oneOf, success, text } from '../../contract/schemas.ts'

const latency = () => z.nullable(z.number())
const names = () => z.array(z.object({ name: z.string(), count: z.int() }))

export const analytics = endpoint({
  method: 'GET',
  path: '/__svc/obs/analytics',
  group: 'obs',
  access: 'viewer',
  summary: 'Shows the traffic of a site, or of all sites together, up to now.',
  query: () =>
    z.strictObject({
      site: z.optional(text('Id of a site. Without it: all sites that the user may read.')),
      window: z.optional(oneOf(['5m', '1h', '24h', '7d'], 'The window of time; 1h if it is left out.')),
    }),
  response: () =>
    success({
      site: z.nullable(z.string()),
      window: z.string(),
      step_secs: z.int(),
      buckets: z.array(
        z.object({
          at: z.iso.datetime(),
          requests: z.int(),
          status: z.record(z.string(), z.int()),
          bytes: z.int(),
          hits: z.object({ l0: z.int(), isr: z.int(), proxy: z.int() }),
          misses: z.int(),
          p50_ms: latency(),
          p95_ms: latency(),
          p99_ms: latency(),
        }),
      ),
      top: z.object({ paths: names(), referrers: names(), clients: names() }),
    }),
  async handle({ analytics: ask, sites }, { query }) {
    const { site, window = '1h' } = query
    const wanted = site === undefined ? sites.list().map(({ id }) => id) : [requireSite(sites, site).id]
    return ok({ site: site ?? null, window, ...(await ask({ sites: wanted, window })) })
  },
})
