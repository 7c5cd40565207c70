import type { CloseStack } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { TaskRequest, TaskResponse } from '@svc/protocol'
import { RequestIds } from '@svc/telemetry'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { RunClaims } from '../tasks/run-claims.ts'
import { RunHistory } from '../tasks/run-history.ts'
import { TaskRunner } from '../tasks/task-runner.ts'
import { TaskScheduler } from '../tasks/task-scheduler.ts'
import type { GenerationAccess, MasterDeps, MasterParts } from './parts.ts'

/** Makes the scheduler of tasks. Nothing is due before `serve`. */
export async function makeTasks(
  access: GenerationAccess,
  { clock, logger }: Pick<MasterDeps, 'clock' | 'logger'>,
  { workers, caches: { instances }, metrics }: Pick<MasterParts, 'workers' | 'caches' | 'metrics'>,
  stack: Pick<CloseStack, 'push'>,
): Promise<TaskScheduler> {
  const { redis, server } = access.get().config
  const history = await RunHistory.open(server.state_dir, logger)
  stack.push('runs of tasks', () => history.close())
  const runner = new TaskRunner({
    claims: new RunClaims({ redis: instances?.commands, prefix: redis.key_prefix, clock, logger }),
    history,
    request: inTurn(workers),
    onEnded: (_task, { state }) => metrics.countRun(state),
    newId: new RequestIds().next,
    clock,
    logger,
  })
  const defaultHost = () => access.get().sites[0]?.hostnames[0]
  const scheduler = new TaskScheduler({ runner, history, defaultHost, clock })
  stack.push('tasks', () => scheduler.close())
  return scheduler
}

/** Has the workers make requests in turn. */
function inTurn(workers: WorkerFleet): (order: TaskRequest) => Promise<TaskResponse> {
  let turn = 0
  return async (order) => {
    const { ready } = workers
    const worker = ready[turn++ % Math.max(1, ready.length)]
    if (worker === undefined) throw new SupervisorError('SUP_NOT_READY', 'no worker serves at the moment')
    return worker.peer.call('runTask', order, { timeoutMs: order.timeoutMs })
  }
}
