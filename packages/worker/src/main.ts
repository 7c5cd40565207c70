// Entry of a connection worker, forked by the master.
import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { ExitCode } from '@svc/protocol'
import { startWorker } from './worker.ts'

// A terminal sends its signals to the whole process group: the master drains its children by message instead.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined)

const bundled = new URL('./password-thread.js', import.meta.url)
const passwordThread = existsSync(bundled) ? bundled : new URL('./vhost/passwords/thread-main.ts', import.meta.url)
const orphaned = startWorker({
  workerId: cluster.worker?.id ?? 0,
  endpoint: process,
  passwordThread,
  accessLogFd: Number(process.env['SVC_ACCESS_LOG_FD'] ?? 1),
})
orphaned.then(
  () => process.exit(ExitCode.ok),
  () => process.exit(ExitCode.internal),
)
