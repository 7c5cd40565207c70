import type { RestartStatus } from '@svc/protocol'
import * as z from 'zod/mini'

/** The progress of a rolling restart as endpoints answer it. */
export function restartProgress({ id, state, replaced, total, error }: RestartStatus): Record<string, unknown> {
  return { ok: state !== 'failed', restart_id: id, state, replaced, total, ...(error === undefined ? {} : { error }) }
}

export function restartResponse() {
  return z.object({
    ok: z.boolean(),
    restart_id: z.string(),
    state: z.optional(z.string()),
    replaced: z.optional(z.int()),
    total: z.optional(z.int()),
    error: z.optional(z.string()),
    render_workers: z.optional(z.int()),
  })
}
