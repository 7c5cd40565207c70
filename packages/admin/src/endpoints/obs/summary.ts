import * as z from 'zod/mini'
import type { ControlPlane } from '../../contract/control-plane.ts'
import { type EventSink, endpoint, ok } from '../../contract/endpoint.ts'
import { flag, success } from '../../contract/schemas.ts'

/** Workers report their requests as often. */
const INTERVAL_MS = 5_000

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
      alerts: z.object({ firing: z.int(), pending: z.int(), silenced: z.int() }),
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
  query: () => z.strictObject({ stream: flag('1: sends it again and again, as server-sent events.') }),
  async handle(plane, { query: { stream } }) {
    return stream === '1' ? { events: (sink) => follow(plane, sink) } : ok(await reportOf(plane))
  },
})

async function reportOf(plane: ControlPlane): Promise<Record<string, unknown>> {
  const [report, { alerts }] = await Promise.all([plane.summary({}), plane.alerts.report()])
  const announced = alerts.filter(({ silence }) => silence === null)
  const countOf = (state: 'firing' | 'pending') => announced.filter((alert) => alert.state === state).length
  const silenced = alerts.filter(({ silence, state }) => silence !== null && state !== 'ok').length
  return { ...report, alerts: { firing: countOf('firing'), pending: countOf('pending'), silenced } }
}

/** Sends a summary now and after each interval, until the function that it returns is called or the master is unreachable. */
function follow(plane: ControlPlane, sink: EventSink): () => void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const next = async () => {
    try {
      sink.send(await reportOf(plane))
      if (!isOver) timer = setTimeout(next, INTERVAL_MS).unref()
    } catch {
      // The client connects again by itself, maybe to a worker that reaches the master.
      sink.end()
    }
  }
  void next()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
