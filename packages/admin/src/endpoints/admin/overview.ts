import { PRODUCT_VERSION } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const overview = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/overview',
  group: 'admin',
  access: 'viewer',
  summary: 'Summarises health, sites by state, isolates and caches.',
  response: () =>
    success({
      version: z.string(),
      generation: z.int(),
      uptime_secs: z.int(),
      status: z.enum(['healthy', 'degraded']),
      sites: z.object({ total: z.int(), states: z.record(z.string(), z.int()) }),
      isolates: z.object({ threads: z.int(), active: z.int(), queued: z.int() }),
      cache: z.object({
        isr: z.object({ entries: z.int(), bytes: z.int() }),
        proxy: z.object({ entries: z.int(), bytes: z.int() }),
      }),
    }),
  async handle({ sites, health, renderers, entries }) {
    const [report, states, pools] = await Promise.all([health(), sites.states(), renderers.pools()])
    const listed = sites.list()
    const byState: Record<string, number> = {}
    for (const { id } of listed) {
      const { state = 'starting' } = states.get(id) ?? {}
      byState[state] = (byState[state] ?? 0) + 1
    }
    const isolates = { threads: 0, active: 0, queued: 0 }
    for (const { threads, active, queued } of pools) {
      isolates.threads += threads
      isolates.active += active
      isolates.queued += queued
    }
    return ok({
      version: PRODUCT_VERSION,
      generation: sites.generation(),
      uptime_secs: report.uptime_secs,
      status: report.status,
      sites: { total: listed.length, states: byState },
      isolates,
      cache: entries.usage([...new Set(listed.map(({ label }) => label))]),
    })
  },
})
