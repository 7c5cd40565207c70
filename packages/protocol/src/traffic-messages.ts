import { CoreError, type Guarded, guard } from '@svc/core'

/** Larger messages are not from a worker. */
const MAX_TRAFFIC_BYTES = 1024 * 1024

const bytes: guard.Guard<Uint8Array> = (value, path = 'message') => {
  if (value instanceof Uint8Array && value.byteLength <= MAX_TRAFFIC_BYTES) return value
  throw new CoreError('CORE_PROTOCOL', `${path}: expected at most ${MAX_TRAFFIC_BYTES} bytes`)
}

/** The traffic of sites that a worker has counted. */
export const trafficBatch = guard.object({
  /** When the worker began to count, in milliseconds since the epoch. */
  at: guard.number,
  /** Of a `TrafficWriter`. */
  bytes,
})
export type TrafficBatch = Guarded<typeof trafficBatch>

const trafficWindow = guard.oneOf('5m', '1h', '24h', '7d')
export type TrafficWindow = Guarded<typeof trafficWindow>

/** Selects traffic. */
export const trafficQuery = guard.object({
  /** Ids of sites; undefined: of all. */
  sites: guard.optional(guard.arrayOf(guard.string)),
  window: trafficWindow,
})
export type TrafficQuery = Guarded<typeof trafficQuery>

const counts = guard.recordOf(guard.number)
const topNames = guard.arrayOf(guard.object({ name: guard.string, count: guard.number }))

/** Figures of some requests. Quantiles are null when there were none. */
const figures = {
  requests: guard.number,
  /** By class: "2xx". */
  status: counts,
  bytes: guard.number,
  hits: guard.object({ l0: guard.number, isr: guard.number, proxy: guard.number }),
  misses: guard.number,
  p50_ms: guard.nullable(guard.number),
  p95_ms: guard.nullable(guard.number),
  p99_ms: guard.nullable(guard.number),
}

/** The traffic of sites in a window of time. */
export const analyticsReport = guard.object({
  step_secs: guard.number,
  /** Times are RFC 3339 in UTC. */
  buckets: guard.arrayOf(guard.object({ at: guard.string, ...figures })),
  top: guard.object({ paths: topNames, referrers: topNames, clients: topNames }),
})
export type AnalyticsReport = Guarded<typeof analyticsReport>
