import type { SiteConfig } from '@svc/config'
import { asError, type Clock } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { changedFiles, haveEntriesMoved, snapshotTree, type TreeSnapshot } from './tree-snapshot.ts'
import { chooseTurn, type Heat } from './turns.ts'

/** How the poll goes. */
export interface WatchSettings {
  /** Milliseconds between looks at a site in use; 0 turns the poll off. */
  readonly intervalMs: number
  /** Milliseconds between looks at a site in development mode. */
  readonly liveMs: number
}

const DEFAULT_INTERVAL_MS = 2_000
const LIVE_MS = 250
const MIN_INTERVAL_MS = 50
/** Up to this many files in all, every site is looked at as if it were in use. */
const FEW_FILES = 5_000

/** Reads the settings of the poll from the environment: `SVC_MASQUERADE_ROUTE_WATCH` and `SVC_MASQUERADE_ROUTE_WATCH_MS`. */
export function watchSettings(env: Readonly<Record<string, string | undefined>>): WatchSettings {
  if (env['SVC_MASQUERADE_ROUTE_WATCH'] === '0') return { intervalMs: 0, liveMs: 0 }
  const given = Number(env['SVC_MASQUERADE_ROUTE_WATCH_MS'] ?? DEFAULT_INTERVAL_MS)
  const intervalMs = Number.isFinite(given) ? Math.max(MIN_INTERVAL_MS, given) : DEFAULT_INTERVAL_MS
  return { intervalMs, liveMs: Math.min(LIVE_MS, intervalMs) }
}

/** What a watcher is made of. */
export interface SiteWatcherOptions {
  readonly settings: WatchSettings
  readonly clock: Clock
  readonly logger: Logger
  /** Whether a site has been asked for lately. */
  readonly isInUse: (site: string) => boolean
  /** Files of a site were added, removed or changed. */
  readonly onChange: (site: string, files: readonly string[]) => void
}

/** Polls the directories of sites for edits: one look at a time, the next only when the last has ended. */
export class SiteWatcher {
  readonly #options: SiteWatcherOptions
  readonly #seen = new Map<string, { readonly root: string; readonly tree: TreeSnapshot }>()
  #sites: readonly SiteConfig[] = []
  #nextCold = 0
  #fileCount = 0
  #sinceIntervalMs = 0
  #isClosed = false
  #cancel: () => void = () => undefined

  constructor(options: SiteWatcherOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#options.settings.intervalMs === 0) return
    this.#run()
  }

  /** Watches these sites from now on. */
  setSites(sites: readonly SiteConfig[]): void {
    this.#sites = sites
    const roots = new Map(sites.map((site) => [site.id, site.root]))
    for (const [id, { root, tree }] of this.#seen) {
      if (roots.get(id) === root) continue
      this.#seen.delete(id)
      this.#fileCount -= tree.files.size
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  #run(): void {
    const { clock, logger, settings } = this.#options
    const pauseMs = this.#sites.some((site) => site.mode === 'development') ? settings.liveMs : settings.intervalMs
    this.#tick(pauseMs)
      .catch((error) => logger.error({ err: asError(error) }, 'watching sites failed'))
      .finally(() => {
        if (!this.#isClosed) this.#cancel = clock.after(pauseMs, () => this.#run())
      })
  }

  async #tick(sincePreviousMs: number): Promise<void> {
    this.#sinceIntervalMs += sincePreviousMs
    const isInterval = this.#sinceIntervalMs >= this.#options.settings.intervalMs
    if (isInterval) this.#sinceIntervalMs = 0
    const turn = chooseTurn(
      this.#sites,
      (site) => this.#heat(site),
      (site) => this.#seen.has(site.id),
      isInterval,
      this.#nextCold,
    )
    this.#nextCold = turn.nextCold
    for (const site of turn.due) {
      if (this.#isClosed) return
      await this.#look(site)
    }
    if (isInterval) await this.#lookAtEntries(this.#sites.filter((site) => !turn.due.includes(site)))
  }

  /** New and removed routes show at once on every site; only edits of files wait for a cold site's turn. */
  async #lookAtEntries(sites: readonly SiteConfig[]): Promise<void> {
    for (const site of sites) {
      const seen = this.#seen.get(site.id)
      if (this.#isClosed) return
      if (seen !== undefined && (await haveEntriesMoved(seen.tree))) await this.#look(site)
    }
  }

  #heat(site: SiteConfig): Heat {
    if (site.mode === 'development') return 'live'
    return this.#fileCount < FEW_FILES || this.#options.isInUse(site.id) ? 'used' : 'cold'
  }

  async #look(site: SiteConfig): Promise<void> {
    const tree = await snapshotTree(site.root)
    // A reload may have taken the site away meanwhile.
    if (this.#isClosed || !this.#sites.includes(site)) return
    const before = this.#seen.get(site.id)
    this.#fileCount += tree.files.size - (before?.tree.files.size ?? 0)
    this.#seen.set(site.id, { root: site.root, tree })
    if (before === undefined) return
    const files = changedFiles(before.tree, tree)
    if (files.length === 0) return
    this.#options.logger.debug({ site: site.id, files: files.length }, 'files of a site changed')
    this.#options.onChange(site.id, files)
  }
}
