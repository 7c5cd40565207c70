import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

const byState = () => z.object({ total: z.int(), states: z.record(z.string(), z.int()) })
const ratio = () => z.nullable(z.number())

export const summary = endpoint({
  method: 'GET',
  path: '/__svc/obs/summary',
  group: 'obs',
  access: 'viewer',
  summary: 'Summarises traffic, processes, sites, alerts, disk and memory.',
  response: () =>
    success({
      at: z.iso.datetime(),
      version: z.string(),
      generation: z.int(),
      uptime_secs: z.int(),
      traffic: z.object({
        requests_per_sec: z.object({ last_minute: z.number(), last_10_secs: z.number() }),
        error_ratio: ratio(),
        p50_ms: ratio(),
        p95_ms: ratio(),
        p99_ms: ratio(),
        hit_ratio: z.nullable(z.object({ l0: z.number(), isr: z.number(), proxy: z.number() })),
      }),
      sites: byState(),
      alerts: z.object({ firing: z.int(), pending: z.int() }),
      instance: z.optional(
        z.object({
          workers: byState(),
          hosts: byState(),
          last_reload: z.nullable(z.object({ at: z.iso.datetime(), ok: z.boolean() })),
          disks: z.array(z.object({ path: z.string(), free_ratio: z.number() })),
          memory: z.object({ resident_bytes: z.int(), available_bytes: z.int() }),
          missing: z.array(z.string()),
        }),
      ),
    }),
  async handle(plane) {
    const [report, { alerts }] = await Promise.all([plane.summary({}), plane.alerts()])
    const countOf = (state: 'firing' | 'pending') => alerts.filter((alert) => alert.state === state).length
    return ok({ ...report, alerts: { firing: countOf('firing'), pending: countOf('pending') } })
  },
})
