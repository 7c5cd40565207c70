import type { PurgeOrder, PurgeScope } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { ChangeReach } from '@svc/processes'
import type { PurgeOutcome } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** What a change of a site's files is told to. */
interface SiteChangesOptions {
  readonly sites: () => readonly SiteConfig[]
  /** Tells the hosts and resolves with the routes that the files are part of. */
  readonly tellHosts: (site: string, files: readonly string[]) => Promise<ChangeReach>
  /** Has the workers forget the routes of a site. */
  readonly tellWorkers: (site: string) => void
  readonly purge: (order: PurgeOrder) => Promise<PurgeOutcome>
  /** Told of a change before anyone; what it resolves with is called when everyone has taken it in. */
  readonly onChanging: (site: SiteConfig) => Promise<() => Promise<void>>
  /** Looks at the files of a site now; `noticed` was called for every write before this when it resolves. */
  readonly look: (site: string) => Promise<void>
  readonly logger: Logger
}

/** Responses of these routes; null: of the whole site. Data of the site's code stays: its tags never begin with a slash. */
function scopeOf(label: string, routes: ChangeReach['routes']): PurgeScope {
  if (routes === null) return { kind: 'pattern', pattern: `route:${label}:/*`, labels: [label] }
  return { kind: 'tags', tags: routes.map((route) => `route:${label}:${route}`) }
}

/**
 * Returns the purge that follows from a change of code. In production the pages are served once more while they are rendered
 * again, unless a path may lead to another route now: a removed page must not be served, nor the 404 of a page that was added. In
 * development they are dropped. Undefined: no page is made of the code.
 */
export function orderOfChange(
  site: Pick<SiteConfig, 'label' | 'mode'>,
  { routes, movesPaths }: ChangeReach,
): PurgeOrder | undefined {
  if (routes?.length === 0) return undefined
  const mode = site.mode === 'development' || movesPaths ? 'drop' : 'stale'
  return { layers: ['isr'], scopes: [scopeOf(site.label, routes)], mode, changedCode: [site.label] }
}

/** Carries changes of the files of sites to everyone who keeps something that was made of them. */
export class SiteChanges {
  readonly #options: SiteChangesOptions
  /** Changes that are being carried out, by site. */
  readonly #running = new Map<string, Set<Promise<unknown>>>()

  constructor(options: SiteChangesOptions) {
    this.#options = options
  }

  /** For a watcher, which waits for nothing: failures are logged. */
  noticed(site: string, files: readonly string[]): void {
    this.changed(site, files).catch((error) => {
      this.#options.logger.error({ site, err: asError(error) }, 'failed to propagate a file change')
    })
  }

  /** Resolves when every write to a site's files before this call has taken effect everywhere, or has failed to. */
  async settled(site: string): Promise<void> {
    await this.#options.look(site)
    await Promise.allSettled(this.#running.get(site) ?? [])
  }

  /**
   * Resolves when nothing made of the old files is served as fresh any more, with what the purge did.
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
    const { sites, tellHosts, tellWorkers, purge, onChanging } = this.#options
    const changing = sites().find(({ id }) => id === site)
    const done = changing === undefined ? undefined : await onChanging(changing)
    const reach = await tellHosts(site, files)
    tellWorkers(site)
    const config = sites().find(({ id }) => id === site)
    if (config === undefined) return undefined
    const order = orderOfChange(config, reach)
    const outcome = order === undefined ? undefined : await purge(order)
    await done?.()
    return outcome
  }
}
