import * as z from 'zod/mini'

/** A run of a task. */
export const runSchema = () =>
  z.object({
    id: z.string().check(z.describe('Also the id of its request.')),
    trigger: z.enum(['schedule', 'manual']),
    due_at: z.string(),
    started_at: z.nullable(z.string()).check(z.describe('Null: it waits.')),
    duration_ms: z.nullable(z.int()),
    state: z.enum(['waiting', 'running', 'ok', 'failed', 'skipped']),
    status: z.nullable(z.int()),
    detail: z.string(),
  })

/** A task, with its last run. */
export const taskSchema = () =>
  z.object({
    name: z.string(),
    schedule: z.string(),
    handler: z.string(),
    host: z.string(),
    enabled: z.boolean(),
    overlap: z.enum(['skip', 'queue']),
    timeout_secs: z.int(),
    next_run_at: z.nullable(z.string()).check(z.describe('Null: it is disabled.')),
    last_run: z.nullable(runSchema()),
  })
