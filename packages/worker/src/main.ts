// Entry of a connection worker, forked by the master.
import cluster from 'node:cluster'
import { ExitCode } from '@svc/protocol'
import { WorkerProcess } from './worker-process.ts'

// A terminal sends its signals to the whole process group: the master drains its children by message instead.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined)

const worker = new WorkerProcess(cluster.worker?.id ?? 0, process)
worker.orphaned.then(
  () => process.exit(ExitCode.ok),
  () => process.exit(ExitCode.internal),
)
