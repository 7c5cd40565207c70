// Entry of a connection worker, forked by the master. Does not outlive it.
import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { createIpcChannel, RpcPeer } from '@svc/core'
import { ExitCode, masterMethods, PROTOCOL_VERSION, workerMethods } from '@svc/protocol'
import { HttpMetrics, MetricSet } from '@svc/telemetry'
import { createComponents, MASTER_TIMEOUT_MS } from './components.ts'
import { masterOrders } from './master-orders.ts'
import { WorkerTraffic } from './traffic/worker-traffic.ts'
import { setWorkerFlags } from './v8-flags.ts'
import { WorkerLog } from './worker-log.ts'

// A terminal sends its signals to the whole process group: the master drains its children by message instead.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1'] as const) process.on(signal, () => undefined)

setWorkerFlags()

const bundled = new URL('./password-thread.js', import.meta.url)
const passwordThread = existsSync(bundled) ? bundled : new URL('./vhost/passwords/thread-main.ts', import.meta.url)
const workerId = cluster.worker?.id ?? 0
const metrics = new MetricSet()
const httpMetrics = new HttpMetrics(metrics)
const traffic = new WorkerTraffic()
const fds = { output: Number(process.env['SVC_ACCESS_LOG_FD'] ?? 1), lines: Number(process.env['SVC_LINES_FD']) }
const log = new WorkerLog(workerId, fds, { httpMetrics, traffic })
const link = new RpcPeer({
  channel: createIpcChannel(process),
  local: workerMethods,
  handlers: (master) => {
    const components = createComponents({ workerId, passwordThread, master, log, metrics, httpMetrics, traffic })
    components.waf.log.connect((batch) => master.call('wafMatched', batch, { timeoutMs: MASTER_TIMEOUT_MS }))
    return masterOrders(components)
  },
  remote: masterMethods,
  protocolVersion: PROTOCOL_VERSION,
  peerName: 'the master',
  onProblem: log.onProblem,
})
log.relay.connect(({ items: lines, dropped }) => link.call('log', { lines, dropped }, { timeoutMs: MASTER_TIMEOUT_MS }))
traffic.connect((report) => link.call('traffic', report, { timeoutMs: MASTER_TIMEOUT_MS }))
link.closed.then(
  () => process.exit(ExitCode.ok),
  () => process.exit(ExitCode.internal),
)
