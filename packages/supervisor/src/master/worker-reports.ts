import type { RunningWorker } from '../fleet/running-worker.ts'
import type { MasterParts } from './parts.ts'

/** Time for a worker to report. */
export const REPORT = { timeoutMs: 2_000 } as const

interface WorkerReports<Report> {
  readonly reports: readonly Report[]
  /** The workers without a report, as `status` lists them: `w1`... */
  readonly missing: readonly string[]
}

/** The reports of the workers that answer in time. */
export async function reportsOf<Report>(
  { workers }: Pick<MasterParts, 'workers'>,
  ask: (worker: RunningWorker) => Promise<Report>,
): Promise<WorkerReports<Report>> {
  const ready = workers.ready
  const replies = await Promise.allSettled(ready.map(ask))
  const heard = new Set<number>()
  const reports: Report[] = []
  for (const [index, reply] of replies.entries()) {
    if (reply.status === 'rejected') continue
    reports.push(reply.value)
    heard.add(ready[index]?.process.pid ?? 0)
  }
  const missing = workers.status().filter(({ pid }) => !heard.has(pid))
  return { reports, missing: missing.map(({ id }) => `w${id}`) }
}
