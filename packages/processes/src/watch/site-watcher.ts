import type { SiteConfig } from '@svc/config'
import { asError, type Clock, codeOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { openFileEvents } from './file-events.ts'
import { SiteWatch } from './site-watch.ts'
import type { OwnDirectories } from './tree-snapshot.ts'

/** Settings of the poll. */
interface WatchSettings {
  /** Milliseconds between checks of a site in use; 0 turns the poll off, not the events. */
  readonly intervalMs: number
  /** Milliseconds between checks of a site in development mode for which the system gives no events. */
  readonly liveMs: number
}

const DEFAULT_INTERVAL_MS = 2_000
const LIVE_MS = 250
const MIN_INTERVAL_MS = 50
/** Up to this many files in total, every site is checked as if it were in use. */
const FEW_FILES = 5_000
/** Pause between two attempts to subscribe to events of a site, in intervals of the poll. */
const LISTEN_AGAIN_INTERVALS = 5

/** Reads the settings of the poll from the environment: `SVC_MASQUERADE_ROUTE_WATCH` and `SVC_MASQUERADE_ROUTE_WATCH_MS`. */
export function watchSettings(env: Readonly<Record<string, string | undefined>>): WatchSettings {
  if (env['SVC_MASQUERADE_ROUTE_WATCH'] === '0') return { intervalMs: 0, liveMs: 0 }
  const given = Number(env['SVC_MASQUERADE_ROUTE_WATCH_MS'] ?? DEFAULT_INTERVAL_MS)
  const intervalMs = Number.isFinite(given) ? Math.max(MIN_INTERVAL_MS, given) : DEFAULT_INTERVAL_MS
  return { intervalMs, liveMs: Math.min(LIVE_MS, intervalMs) }
}

/** Frequency of a site's checks: "live" at every tick, "used" at every interval, "cold" at every tenth interval. */
type Heat = 'live' | 'used' | 'cold'

/** Each cold site is checked once in this many intervals. */
const COLD_ROUNDS = 10

/** Sites to check in a tick, and the cold site at which the next tick continues. */
interface Turn<Site> {
  readonly due: readonly Site[]
  readonly nextCold: number
}

/**
 * Chooses the sites of a tick. `isInterval` is true at ticks that end a full interval. A site without a snapshot is always due: only
 * a second check can show a change.
 */
export function chooseTurn<Site>(
  sites: readonly Site[],
  heatOf: (site: Site) => Heat,
  isSeen: (site: Site) => boolean,
  isInterval: boolean,
  nextCold: number,
): Turn<Site> {
  const heats = sites.map(heatOf)
  const cold = sites.filter((_, i) => heats[i] === 'cold')
  const share = isInterval ? Math.ceil(cold.length / COLD_ROUNDS) : 0
  const start = cold.length === 0 ? 0 : nextCold % cold.length
  const turn = new Set([...cold.slice(start, start + share), ...cold.slice(0, Math.max(0, start + share - cold.length))])
  const isDue = (site: Site, heat: Heat | undefined) =>
    heat === 'live' || (heat === 'used' && isInterval) || turn.has(site) || !isSeen(site)
  return { due: sites.filter((site, i) => isDue(site, heats[i])), nextCold: start + share }
}

/** Options of a `SiteWatcher`. */
interface SiteWatcherOptions {
  readonly settings: WatchSettings
  readonly clock: Clock
  readonly logger: Logger
  /** Directories that the service writes to: never checked, even inside of a site. */
  readonly own: OwnDirectories
  /** Subscribes to the system's events; tests replace it to simulate a system without events. */
  readonly openEvents?: typeof openFileEvents
  /** True if a site had requests recently. */
  readonly isInUse: (site: string) => boolean
  /** Files of a site were added, removed or changed. */
  readonly onChange: (site: string, files: readonly string[]) => void
}

/** Watches the directories of sites for edits: by events of the system, and by a poll that finds changes without an event. */
export class SiteWatcher {
  readonly #options: SiteWatcherOptions
  readonly #watches = new Map<string, SiteWatch>()
  /** Wall clock, for the sites set next: files that changed after this may have been read before the change. */
  #servedSince: number
  #sites: readonly SiteConfig[] = []
  #nextCold = 0
  #sinceIntervalMs = 0
  #intervals = 0
  #isStarted = false
  #isClosed = false
  #isListening = false
  #hasWarned = false
  #cancel: () => void = () => undefined

  constructor(options: SiteWatcherOptions) {
    this.#options = options
    this.#servedSince = options.clock.now()
  }

  start(): void {
    this.#isStarted = true
    this.#listenToAll()
    if (this.#options.settings.intervalMs > 0) this.#run()
  }

  /** Watches these sites from now on. */
  setSites(sites: readonly SiteConfig[]): void {
    this.#sites = sites
    const roots = new Map(sites.map((site) => [site.id, site.root]))
    for (const [id, watch] of this.#watches) {
      if (roots.get(id) === watch.root) continue
      this.#watches.delete(id)
      watch.close().catch(this.#problem)
    }
    for (const site of sites) {
      if (!this.#watches.has(site.id)) this.#watches.set(site.id, this.#watch(site))
    }
    this.#servedSince = this.#options.clock.now()
    if (this.#isStarted) this.#listenToAll()
  }

  /** Checks a site's files now. Resolves when `onChange` was called for every write before this call. Never rejects. */
  async look(site: string): Promise<void> {
    await this.#watches.get(site)?.look()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel()
    await Promise.all([...this.#watches.values()].map((watch) => watch.close()))
  }

  readonly #problem = (error: unknown): void => {
    this.#options.logger.error({ err: asError(error) }, 'failed to check the files of sites')
  }

  #watch(site: SiteConfig): SiteWatch {
    const { clock, logger, own, onChange, openEvents = openFileEvents } = this.#options
    return new SiteWatch(site, {
      clock,
      logger,
      openEvents,
      own,
      servedSince: this.#servedSince,
      onChange: (files) => onChange(site.id, files),
      onNoEvents: (error) => this.#warn(site.id, error),
    })
  }

  /** Subscribes one site after another: a thousand of them must not block the machine at the start. */
  #listenToAll(): void {
    if (this.#isListening) return
    this.#isListening = true
    const listen = async () => {
      for (let site = this.#deaf(); site !== undefined && !this.#isClosed; site = this.#deaf(site)) {
        await this.#watches.get(site.id)?.listen()
      }
    }
    listen()
      .catch(this.#problem)
      .finally(() => {
        this.#isListening = false
      })
  }

  /** Returns the next site without events after `after`, in the order of the configuration. */
  #deaf(after?: SiteConfig): SiteConfig | undefined {
    const start = after === undefined ? 0 : this.#sites.indexOf(after) + 1
    return this.#sites.slice(start).find((site) => this.#watches.get(site.id)?.hasEvents === false)
  }

  #warn(site: string, error: Error): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const remedy =
      codeOf(error) === 'ENOSPC' || /no space left|limit/i.test(error.message)
        ? 'raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl'
        : 'the poll finds edits with a delay'
    this.#options.logger.warn({ site, err: error }, `no file events for some sites; polling them instead: ${remedy}`)
  }

  #run(): void {
    const { clock, settings } = this.#options
    const isLive = this.#sites.some((site) => this.#isLive(site))
    const pauseMs = isLive ? settings.liveMs : settings.intervalMs
    this.#tick(pauseMs)
      .catch(this.#problem)
      .finally(() => {
        if (!this.#isClosed) this.#cancel = clock.after(pauseMs, () => this.#run())
      })
  }

  async #tick(sincePreviousMs: number): Promise<void> {
    this.#sinceIntervalMs += sincePreviousMs
    const isInterval = this.#sinceIntervalMs >= this.#options.settings.intervalMs
    if (isInterval) {
      this.#sinceIntervalMs = 0
      if (++this.#intervals % LISTEN_AGAIN_INTERVALS === 0) this.#listenToAll()
    }
    const isFew = this.#fileCount < FEW_FILES
    const turn = chooseTurn(
      this.#sites,
      (site) => this.#heat(site, isFew),
      (site) => this.#watches.get(site.id)?.isSeen === true,
      isInterval,
      this.#nextCold,
    )
    this.#nextCold = turn.nextCold
    for (const site of turn.due) {
      if (this.#isClosed) return
      await this.#watches.get(site.id)?.look()
    }
    if (isInterval) await this.#lookAtEntries(this.#sites.filter((site) => !turn.due.includes(site)))
  }

  /** New and removed routes take effect at once on every site; only edits of files wait for a cold site's turn. */
  async #lookAtEntries(sites: readonly SiteConfig[]): Promise<void> {
    for (const site of sites) {
      if (this.#isClosed) return
      await this.#watches.get(site.id)?.lookIfMoved()
    }
  }

  #heat(site: SiteConfig, isFew: boolean): Heat {
    if (this.#isLive(site)) return 'live'
    return isFew || this.#options.isInUse(site.id) ? 'used' : 'cold'
  }

  /** True for a site in development mode without events: its edits must show at once too. */
  #isLive(site: SiteConfig): boolean {
    return site.mode === 'development' && this.#watches.get(site.id)?.hasEvents !== true
  }

  get #fileCount(): number {
    let count = 0
    for (const watch of this.#watches.values()) count += watch.fileCount
    return count
  }
}
