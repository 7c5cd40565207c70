import { type Guarded, guard } from '@svc/core'

/** A request that a worker makes for a task. */
export const taskRequest = guard.object({
  task: guard.string,
  /** Its id is the id of the request. */
  run: guard.string,
  method: guard.string,
  /** Path and query. */
  target: guard.string,
  host: guard.string,
  timeoutMs: guard.number,
})
export type TaskRequest = Guarded<typeof taskRequest>

export const taskResponse = guard.object({
  /** 0: there was none in time, or it broke off. */
  status: guard.number,
  /** Target of a redirect, or "". */
  location: guard.string,
})
export type TaskResponse = Guarded<typeof taskResponse>

/** A run of a task, as it is listed and stored. Times are RFC 3339 in UTC. */
export const taskRun = guard.object({
  id: guard.string,
  trigger: guard.oneOf('schedule', 'manual'),
  /** Time of the schedule, or of the order. */
  due_at: guard.string,
  /** Null: it waits for the run before it, or for others. */
  started_at: guard.nullable(guard.string),
  duration_ms: guard.nullable(guard.number),
  state: guard.oneOf('waiting', 'running', 'ok', 'failed', 'skipped'),
  status: guard.nullable(guard.number),
  detail: guard.string,
})
export type TaskRun = Guarded<typeof taskRun>

export const taskStatus = guard.object({
  name: guard.string,
  schedule: guard.string,
  handler: guard.string,
  host: guard.string,
  enabled: guard.boolean,
  overlap: guard.oneOf('skip', 'queue'),
  timeout_secs: guard.number,
  /** Null: it is disabled. */
  next_run_at: guard.nullable(guard.string),
  last_run: guard.nullable(taskRun),
})
export type TaskStatus = Guarded<typeof taskStatus>

/** Enables or disables a task. */
export const taskOrder = guard.object({ name: guard.string, enabled: guard.boolean, username: guard.string })
export type TaskOrder = Guarded<typeof taskOrder>
