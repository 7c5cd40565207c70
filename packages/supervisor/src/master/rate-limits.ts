import { RateLimits } from '../rate-limit/rate-limits.ts'
import { SharedWindows } from '../rate-limit/shared-windows.ts'
import type { GenerationAccess, MasterDeps, MasterParts } from './parts.ts'

/** Makes the count of requests: of this instance, or of all that share its Redis. */
export function makeRateLimits(
  access: GenerationAccess,
  { clock, logger }: Pick<MasterDeps, 'clock' | 'logger'>,
  { workers, caches: { instances } }: Pick<MasterParts, 'workers' | 'caches'>,
): RateLimits {
  const { redis } = access.get().config
  return new RateLimits({
    settings: () => access.get().config.rate_limit,
    workers: () => workers.count,
    instances: () => instances?.figures.instances ?? 1,
    shared: instances && new SharedWindows(instances.commands, redis.key_prefix),
    announce: (client) => workers.joined.unblock(client),
    clock,
    logger,
  })
}
