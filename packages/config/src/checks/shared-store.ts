import type { Finding } from '../problem.ts'
import type { Config } from '../types.ts'
import { findingIf } from './finding-of.ts'

/** Checks that what is shared between instances has a store to be shared through. */
export function checkSharedStore({ redis, cache, rate_limit: rateLimit }: Config): Finding[] {
  if (redis.url !== undefined) return []
  return [
    ...findingIf(cache.isr.l2_enabled, ['cache', 'isr', 'l2_enabled'], 'needs redis.url'),
    ...findingIf(rateLimit.distributed, ['rate_limit', 'distributed'], 'needs redis.url'),
  ]
}
