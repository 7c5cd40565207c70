import type { EntryStore } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { Logger } from '@svc/telemetry'

/** Pause between two log lines about the share of one site. */
const PAUSE_MS = 3_600_000
/** A site counts as limited from this part of its share on: the entries just evicted are missing. */
const NEAR_SHARE = 0.9

/** A site's usage of a store. */
export type SiteUsage = ReturnType<EntryStore['room']['usages']>[number]

export interface StoreBounds {
  readonly maxEntries: number
  readonly maxBytes: number
}

/** Returns the sites that lost entries since the last check because others need their shares of the store. */
function heldToShare(
  usages: readonly SiteUsage[],
  evictedBefore: ReadonlyMap<string, number>,
  { maxEntries, maxBytes }: StoreBounds,
): SiteUsage[] {
  const active = usages.filter(({ entries }) => entries > 0)
  // A single site has the whole store.
  if (active.length < 2) return []
  const weights = active.reduce((sum, { weight }) => sum + weight, 0)
  return active.filter(({ label, weight, entries, bytes, evictions }) => {
    const part = (NEAR_SHARE * weight) / weights
    const isFull = entries >= part * maxEntries || bytes >= part * maxBytes
    return isFull && evictions > (evictedBefore.get(label) ?? 0)
  })
}

interface ShareNoticesOptions {
  /** Name of the store in the log. */
  readonly store: string
  readonly usages: () => readonly SiteUsage[]
  readonly bounds: StoreBounds
  readonly clock: Clock
  readonly logger: Logger
}

/** Logs the sites that are limited to their shares of a store, each at most once an hour. */
export class ShareNotices {
  readonly #options: ShareNoticesOptions
  #evicted: ReadonlyMap<string, number> | undefined
  readonly #saidAt = new Map<string, number>()

  constructor(options: ShareNoticesOptions) {
    this.#options = options
  }

  look(): void {
    const { store, usages: read, bounds, clock, logger } = this.#options
    const usages = read()
    const now = clock.monotonic()
    // An earlier instance may have logged the evictions before the first check.
    const held = this.#evicted === undefined ? [] : heldToShare(usages, this.#evicted, bounds)
    this.#evicted = new Map(usages.map(({ label, evictions }) => [label, evictions]))
    for (const { label, entries, bytes, weight } of held) {
      const saidAt = this.#saidAt.get(label)
      if (saidAt !== undefined && now - saidAt < PAUSE_MS) continue
      this.#saidAt.set(label, now)
      logger.warn(
        { store, label, entries, bytes, weight },
        'a site fills its share of a cache: evicting its least recently used entries',
      )
    }
  }
}
