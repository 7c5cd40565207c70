import type { SiteConfig } from '@svc/config'
import { asError, type Clock, codeOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { FileEvents, openFileEvents } from './file-events.ts'
import {
  changedAfter,
  changedFiles,
  haveEntriesMoved,
  lookAgain,
  type OwnDirectories,
  snapshotTree,
  type TreeSnapshot,
} from './tree-snapshot.ts'

/** After the last event of a burst, and after the first one at most. Milliseconds. */
const QUIET_MS = 25
const MAX_BURST_MS = 250

/** Options of a `SiteWatch`. */
interface SiteWatchOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly openEvents: typeof openFileEvents
  readonly own: OwnDirectories
  /** Wall clock: a file that changed after this and before the first check counts as changed. */
  readonly servedSince: number
  /** Files were added, removed or changed. */
  readonly onChange: (files: readonly string[]) => void
  /** The system gave no events for this site; it is polled. */
  readonly onNoEvents: (error: Error) => void
}

/** One watched site: its last snapshot, and the events that trigger the next check. */
export class SiteWatch {
  readonly root: string
  readonly #site: string
  readonly #options: SiteWatchOptions
  /** Checks never overlap: each compares with the previous one. */
  #looking: Promise<void> = Promise.resolve()
  #tree: TreeSnapshot | undefined
  #events: FileEvents | undefined
  #pending = new Set<string>()
  #burstSince: number | undefined
  #cancelFlush: () => void = () => undefined
  /** A check that has not started. */
  #nextLook: Promise<void> | undefined
  #isClosed = false

  constructor(site: SiteConfig, options: SiteWatchOptions) {
    this.root = site.root
    this.#site = site.id
    this.#options = options
  }

  /** Number of files at the last check. */
  get fileCount(): number {
    return this.#tree?.files.size ?? 0
  }

  get isSeen(): boolean {
    return this.#tree !== undefined
  }

  get hasEvents(): boolean {
    return this.#events !== undefined
  }

  /** Subscribes to events, then checks for earlier changes. Never rejects. */
  async listen(): Promise<void> {
    if (this.#isClosed || this.#events !== undefined) return
    try {
      const events = await this.#options.openEvents(this.root, this.#options.own, {
        onPaths: (paths) => this.#noteEvents(paths),
        onEnd: (error) => this.#eventsEnded(error),
      })
      if (this.#isClosed) await events.close()
      else this.#events = events
    } catch (error) {
      // The poll finds a directory that does not exist yet.
      if (codeOf(error) !== 'ENOENT') this.#options.onNoEvents(asError(error))
    }
    await this.look()
  }

  /**
   * Checks all files and reports the differences from the last check. All calls before a check starts share it: it sees every write
   * before them. Never rejects.
   */
  look(): Promise<void> {
    this.#nextLook ??= this.#next(async () => {
      this.#nextLook = undefined
      this.#compare(await snapshotTree(this.root, this.#options.own))
    })
    return this.#nextLook
  }

  /** Like `look`, but only if an entry was added or removed since: far cheaper. */
  lookIfMoved(): Promise<void> {
    return this.#next(async () => {
      if (this.#tree !== undefined && (await haveEntriesMoved(this.#tree)))
        this.#compare(await snapshotTree(this.root, this.#options.own))
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelFlush()
    await this.#events?.close()
  }

  #next(look: () => Promise<void>): Promise<void> {
    this.#looking = this.#looking.then(look).catch((error) => {
      this.#options.logger.error({ site: this.#site, err: asError(error) }, 'failed to check the files of a site')
    })
    return this.#looking
  }

  #compare(tree: TreeSnapshot): void {
    if (this.#isClosed) return
    const before = this.#tree
    this.#tree = tree
    const files = before === undefined ? changedAfter(tree, this.#options.servedSince) : changedFiles(before, tree)
    if (files.length === 0) return
    this.#options.logger.debug({ site: this.#site, files: files.length }, 'files of a site changed')
    this.#options.onChange(files)
  }

  #noteEvents(paths: readonly string[]): void {
    const { clock } = this.#options
    for (const path of paths) this.#pending.add(path)
    this.#burstSince ??= clock.monotonic()
    const leftMs = this.#burstSince + MAX_BURST_MS - clock.monotonic()
    this.#cancelFlush()
    this.#cancelFlush = clock.after(Math.max(0, Math.min(QUIET_MS, leftMs)), () => this.#flush())
  }

  #flush(): void {
    const paths = [...this.#pending]
    this.#pending = new Set()
    this.#burstSince = undefined
    void this.#next(async () => {
      const known = this.#tree === undefined ? undefined : await lookAgain(this.#tree, paths)
      this.#compare(known ?? (await snapshotTree(this.root, this.#options.own)))
    })
  }

  #eventsEnded(error: Error | undefined): void {
    const events = this.#events
    this.#events = undefined
    if (this.#isClosed) return
    if (error !== undefined) this.#options.onNoEvents(error)
    void events?.close()
    // A new directory may exist at the path already.
    void this.look()
  }
}
