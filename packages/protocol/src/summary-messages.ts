import { type Guarded, guard } from '@svc/core'

/** Selects the subject of a summary. */
export const summaryQuery = guard.object({
  /** Ids of sites; undefined: the whole instance. */
  sites: guard.optional(guard.arrayOf(guard.string)),
})
export type SummaryQuery = Guarded<typeof summaryQuery>

/** Numbers of things by state. */
const byState = guard.object({ total: guard.number, states: guard.recordOf(guard.number) })

/** The traffic of the moment. Null: there was none. */
const traffic = guard.object({
  /** Of the last full minute, and of the last ten seconds. */
  requests_per_sec: guard.object({ last_minute: guard.number, last_10_secs: guard.number }),
  error_ratio: guard.nullable(guard.number),
  p50_ms: guard.nullable(guard.number),
  p95_ms: guard.nullable(guard.number),
  p99_ms: guard.nullable(guard.number),
  hit_ratio: guard.nullable(guard.object({ l0: guard.number, isr: guard.number, proxy: guard.number })),
})

const disk = guard.object({ path: guard.string, free_ratio: guard.number })

/** The state of the instance at a glance. */
export const summaryReport = guard.object({
  /** RFC 3339 in UTC. */
  at: guard.string,
  version: guard.string,
  generation: guard.number,
  uptime_secs: guard.number,
  traffic,
  sites: byState,
  /** The processes, with their memory and processor time; undefined for a part of the sites. */
  instance: guard.optional(
    guard.object({
      workers: byState,
      hosts: byState,
      last_reload: guard.nullable(guard.object({ at: guard.string, ok: guard.boolean })),
      disks: guard.arrayOf(disk),
      /** `resident_bytes`: of all processes. */
      memory: guard.object({ resident_bytes: guard.number, available_bytes: guard.number }),
      /** Measurements that are missing: something did not answer in time. */
      missing: guard.arrayOf(guard.string),
    }),
  ),
})
export type SummaryReport = Guarded<typeof summaryReport>
