import {
  type EntryStore,
  type LeaseDesk,
  type PurgeLedger,
  SharedCache,
  type SharedCommands,
  type SharedLayer,
  SharedLeases,
} from '@svc/cache'
import type { Config } from '@svc/config'
import type { Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'

interface ShareLeasesOptions {
  /** undefined: no configuration has wanted it so far. */
  readonly redis: () => SharedCommands | undefined
  readonly leases: LeaseDesk
  readonly ledger: PurgeLedger
  readonly metrics: CacheMetrics
  readonly clock: Clock
}

/**
 * Makes the leases of a store hold among all instances, and its entries theirs; undefined: the configuration wants that for none.
 * @param leasePrefix the keys of its leases begin with it, before the key of the entry
 */
export type ShareLeases = (config: Config, layer: SharedLayer, store: EntryStore, leasePrefix: string) => SharedLeases | undefined

/** See `ShareLeases`. */
export function sharingLeases({ redis, leases, ledger, metrics, clock }: ShareLeasesOptions): ShareLeases {
  return (config, layer, store, leasePrefix) => {
    const { l2_enabled: isWanted, l2_ttl_ms: ttlMs } = config.cache.isr
    const commands = isWanted && config.redis.url !== undefined ? redis() : undefined
    if (commands === undefined) return undefined
    const counts = { hits: metrics.hits.l2, misses: metrics.misses.l2 }
    const prefix = config.redis.key_prefix
    const cache = new SharedCache({ commands, prefix, layer, ttlMs, store, ledger, clock, counts })
    return new SharedLeases(leases, cache, leasePrefix)
  }
}
