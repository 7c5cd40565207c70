import { AppError } from '@svc/core'
import type { TaskRun, TaskStatus } from '@svc/protocol'
import type { ControlPlane } from '../src/index.ts'

/** A run that succeeded. */
export const run: TaskRun = {
  id: 'run-1',
  trigger: 'schedule',
  due_at: '2026-01-01T03:00:00.000Z',
  started_at: '2026-01-01T03:00:00.010Z',
  duration_ms: 20,
  state: 'ok',
  status: 200,
  detail: '',
}

/** Its task. */
export const task: TaskStatus = {
  name: 'nightly',
  schedule: '0 3 * * *',
  handler: 'http::GET /tasks/nightly',
  host: 'shop.test',
  enabled: true,
  overlap: 'skip',
  timeout_secs: 60,
  next_run_at: '2026-01-02T03:00:00.000Z',
  last_run: run,
}

/** The tasks of an instance that has one. */
export function tasksOf(calls: unknown[]): ControlPlane['tasks'] {
  const require = (name: string) => {
    if (name !== task.name) throw new AppError('SUP_UNKNOWN_TASK', 'there is no such task', { status: 404, exposable: true })
  }
  return {
    list: async () => [task],
    runs: async (name) => {
      require(name)
      return [run]
    },
    run: async (name) => {
      require(name)
      calls.push({ run: name })
      return { ...run, trigger: 'manual', state: 'waiting' }
    },
    setEnabled: async (order) => {
      require(order.name)
      calls.push({ task: order })
    },
  }
}
