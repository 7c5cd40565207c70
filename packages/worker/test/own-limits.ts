import type { Clock } from '@svc/core'
import { ConnectionLimits } from '../src/limits/connection-limits.ts'
import { RequestLimits } from '../src/limits/request-limits.ts'
import type { WorkerLimits } from '../src/vhost/index.ts'

/** The limits of a worker whose master never replies: it decides by itself. */
export function ownLimits(clock: Clock): WorkerLimits {
  return {
    requests: new RequestLimits(async () => [], clock),
    connections: new ConnectionLimits({ begin: async () => [], end: () => undefined }),
    clock,
  }
}
