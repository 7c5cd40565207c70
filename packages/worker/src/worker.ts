import { createIpcChannel, RpcPeer } from '@svc/core'
import { masterMethods, PROTOCOL_VERSION, workerMethods } from '@svc/protocol'
import { HttpMetrics, MetricSet } from '@svc/telemetry'
import { createComponents } from './components.ts'
import { masterOrders } from './master-orders.ts'
import { WorkerLog } from './worker-log.ts'

/** Input of a worker at its start. */
interface WorkerOptions {
  readonly workerId: number
  /** Leads to the master. */
  readonly endpoint: Parameters<typeof createIpcChannel>[0]
  /** Program of the thread that checks passwords. */
  readonly passwordThread: URL
  /** Destination of access log lines. */
  readonly accessLogFd: number
}

/**
 * Starts a connection worker, which follows the orders of the master.
 * @returns a promise that resolves when the master has disconnected: a worker does not outlive it
 */
export function startWorker({ workerId, endpoint, passwordThread, accessLogFd }: WorkerOptions): Promise<unknown> {
  const metrics = new MetricSet()
  const httpMetrics = new HttpMetrics(metrics)
  const log = new WorkerLog(workerId, accessLogFd, httpMetrics)
  const link = new RpcPeer({
    channel: createIpcChannel(endpoint),
    local: workerMethods,
    handlers: (master) => masterOrders(createComponents({ workerId, passwordThread, master, log, metrics, httpMetrics })),
    remote: masterMethods,
    protocolVersion: PROTOCOL_VERSION,
    peerName: 'the master',
    onProblem: log.onProblem,
  })
  return link.closed
}
