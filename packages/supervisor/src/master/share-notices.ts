import type { EntryStore } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { Logger } from '@svc/telemetry'

/** How often the log says that one site is held to its share. */
const PAUSE_MS = 3_600_000
/** A site counts as held when it has this part of its share: the entries just evicted are missing. */
const NEAR_SHARE = 0.9

/** How much of a store a site has. */
export type SiteUsage = ReturnType<EntryStore['usages']>[number]

export interface StoreBounds {
  readonly maxEntries: number
  readonly maxBytes: number
}

/** Decides which sites lost entries since an earlier look because others need their shares of the store. */
function heldToShare(
  usages: readonly SiteUsage[],
  evictedBefore: ReadonlyMap<string, number>,
  { maxEntries, maxBytes }: StoreBounds,
): SiteUsage[] {
  const active = usages.filter(({ entries }) => entries > 0)
  // A site alone has all there is.
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

/** Logs which sites are held to their shares of a store: each once an hour at most. */
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
    // An earlier instance may have logged the evictions before the first look.
    const held = this.#evicted === undefined ? [] : heldToShare(usages, this.#evicted, bounds)
    this.#evicted = new Map(usages.map(({ label, evictions }) => [label, evictions]))
    for (const { label, entries, bytes, weight } of held) {
      const saidAt = this.#saidAt.get(label)
      if (saidAt !== undefined && now - saidAt < PAUSE_MS) continue
      this.#saidAt.set(label, now)
      logger.warn(
        { store, label, entries, bytes, weight },
        'a site fills its share of a cache: its least recently used entries are evicted',
      )
    }
  }
}
