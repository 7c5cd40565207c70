import type { Config } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'

/** Checks that what is shared between instances has a store to be shared through. */
export function checkSharedStore({ redis, cache, rate_limit: rateLimit }: Config): Finding[] {
  if (redis.url !== undefined) return []
  return [
    ...findingIf(cache.isr.l2_enabled, ['cache', 'isr', 'l2_enabled'], 'needs redis.url'),
    ...findingIf(rateLimit.distributed, ['rate_limit', 'distributed'], 'needs redis.url'),
  ]
}
