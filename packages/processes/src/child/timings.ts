import type { BackoffPolicy } from '@svc/core'

/** The master's timeouts and intervals. Milliseconds. */
export interface SupervisorTimings {
  /** Pause between a pong and the next ping. */
  readonly pingIntervalMs: number
  /** A process that has not responded for this long is killed and replaced. */
  readonly pingTimeoutMs: number
  /** From the fork of a process until it is ready. */
  readonly startTimeoutMs: number
  /** For one process to build a generation, and for it to swap to one. */
  readonly prepareTimeoutMs: number
  readonly commitTimeoutMs: number
  /** For a process to exit by itself once its pipe is closed. */
  readonly exitGraceMs: number
  /** For a process to note a purge; a process that times out is killed. */
  readonly purgeTimeoutMs: number
  /** For a process to respond to a scrape. */
  readonly metricsTimeoutMs: number
  /** Back-off between repeated deaths. */
  readonly backoff: BackoffPolicy
  /** Deaths of one worker before it was ever ready that make the start fail. */
  readonly startAttempts: number
}

/** The timings of a server; tests shorten some. */
export const defaultTimings: SupervisorTimings = {
  pingIntervalMs: 2_000,
  pingTimeoutMs: 10_000,
  startTimeoutMs: 30_000,
  prepareTimeoutMs: 30_000,
  commitTimeoutMs: 10_000,
  exitGraceMs: 2_000,
  purgeTimeoutMs: 1_000,
  metricsTimeoutMs: 500,
  backoff: { firstMs: 100, maxMs: 10_000, resetAfterMs: 60_000 },
  startAttempts: 3,
}
