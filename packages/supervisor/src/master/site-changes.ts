import type { PurgeOrder, PurgeScope } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { ChangeReach } from '@svc/processes'
import type { PurgeOutcome } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** Options of `SiteChanges`. */
interface SiteChangesOptions {
  readonly sites: () => readonly SiteConfig[]
  /** Notifies the hosts and resolves with the routes that the files are part of. */
  readonly notifyHosts: (site: string, files: readonly string[]) => Promise<ChangeReach>
  /** Has the workers forget the routes of a site. */
  readonly notifyWorkers: (site: string) => void
  readonly purge: (order: PurgeOrder) => Promise<PurgeOutcome>
  /** Called before all others; the function that it resolves with is called when all have applied the change. */
  readonly onChanging: (site: SiteConfig) => Promise<() => Promise<void>>
  /** True if a site has changed since its stored pages were rendered. */
  readonly isChanged: (site: SiteConfig) => Promise<boolean>
  /** Checks the files of a site now; when it resolves, `noticed` has been called for every earlier write. */
  readonly look: (site: string) => Promise<void>
  readonly logger: Logger
}

/** Matches responses of these routes; null: of the whole site. Data of the site's code stays: its tags never begin with a slash. */
function scopeOf(label: string, routes: ChangeReach['routes']): PurgeScope {
  if (routes === null) return { kind: 'pattern', pattern: `route:${label}:/*`, labels: [label] }
  return { kind: 'tags', tags: routes.map((route) => `route:${label}:${route}`) }
}

/**
 * Returns the purge for a change of code. In production, stale pages are served while they are rendered again, unless a path
 * may now lead to another route: neither a removed page nor the 404 of an added page may be served. In development they are
 * dropped. Undefined: no page depends on the code.
 */
export function orderOfChange(
  site: Pick<SiteConfig, 'label' | 'mode'>,
  { routes, movesPaths }: ChangeReach,
): PurgeOrder | undefined {
  if (routes?.length === 0) return undefined
  const mode = site.mode === 'development' || movesPaths ? 'drop' : 'stale'
  return { layers: ['isr'], scopes: [scopeOf(site.label, routes)], mode, changedCode: [site.label] }
}

/** Propagates changes of the files of sites to all processes and caches that depend on them. */
export class SiteChanges {
  readonly #options: SiteChangesOptions
  /** Changes in progress, by site. */
  readonly #running = new Map<string, Set<Promise<unknown>>>()

  constructor(options: SiteChangesOptions) {
    this.#options = options
  }

  /** For a watcher, which does not await the result: logs failures. */
  noticed(site: string, files: readonly string[]): void {
    this.changed(site, files).catch((error) => {
      this.#options.logger.error({ site, err: asError(error) }, 'failed to propagate a file change')
    })
  }

  /**
   * Called when the unit of a site is about to serve. Its files were not watched while it was away, so this checks them for changes.
   * Never rejects.
   */
  async unitAttached(site: SiteConfig): Promise<void> {
    try {
      if (await this.#options.isChanged(site)) await this.changed(site.id, [])
    } catch (error) {
      const message = 'failed to propagate the changes of a site from the time that its unit was away'
      this.#options.logger.error({ site: site.id, err: asError(error) }, message)
    }
  }

  /** Resolves when every write to a site's files before this call has taken effect everywhere or has failed. */
  async settled(site: string): Promise<void> {
    await this.#options.look(site)
    await Promise.allSettled(this.#running.get(site) ?? [])
  }

  /**
   * Resolves with the result of the purge, when nothing made of the old files is served as fresh any more.
   * @param files absolute paths; none: any may have changed
   */
  changed(site: string, files: readonly string[]): Promise<PurgeOutcome | undefined> {
    const change = this.#carryOut(site, files)
    const running = this.#running.get(site) ?? new Set()
    this.#running.set(site, running.add(change))
    const ended = () => {
      running.delete(change)
      if (running.size === 0 && this.#running.get(site) === running) this.#running.delete(site)
    }
    change.then(ended, ended)
    return change
  }

  async #carryOut(site: string, files: readonly string[]): Promise<PurgeOutcome | undefined> {
    const { sites, notifyHosts, notifyWorkers, purge, onChanging } = this.#options
    const changing = sites().find(({ id }) => id === site)
    const done = changing === undefined ? undefined : await onChanging(changing)
    const reach = await notifyHosts(site, files)
    notifyWorkers(site)
    const config = sites().find(({ id }) => id === site)
    if (config === undefined) return undefined
    const order = orderOfChange(config, reach)
    const outcome = order === undefined ? undefined : await purge(order)
    await done?.()
    return outcome
  }
}
