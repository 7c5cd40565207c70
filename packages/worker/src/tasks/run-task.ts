import type { CallContext } from '@svc/core'
import type { TaskRequest, TaskResponse } from '@svc/protocol'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { RequestHandler } from '../pipeline/pipeline.ts'
import { TaskExchange } from './task-exchange.ts'

/**
 * Makes the request of a task: through the pipeline, past L0 and the rate limit, and over https where visitors are sent there. Its client
 * has no address, so it is not taken for one on this machine. Aborted with the call.
 * @throws HTTP_MISUSE if its target is not one
 */
export function runTask(
  { generation, handle }: { readonly generation: ServingGeneration; readonly handle: RequestHandler },
  { task, run, method, target, host }: TaskRequest,
  call: Pick<CallContext, 'onAbort'>,
): Promise<TaskResponse> {
  const { spec, config, secureHosts } = generation
  const isSecure = secureHosts.originOf(host) !== undefined
  const scheme = isSecure ? 'https' : 'http'
  const listen = spec.listen.find(({ isTls }) => (isTls === true) === isSecure) ?? spec.listen[0]
  const exchange = new TaskExchange({
    method,
    target,
    host,
    scheme,
    listener: listen?.name ?? '',
    headers: [
      ['user-agent', 'svc-task'],
      // Removed from the requests of clients: a site may rely on it.
      ['x-svc-task', encodeURIComponent(task)],
      ['x-request-id', run],
      ['cdn-loop', `svc;${config.scaling.instance_id}`],
    ],
  })
  call.onAbort(() => exchange.cut())
  handle(exchange, { address: '', scheme, host, isPeerTrusted: true })
  return exchange.response
}
