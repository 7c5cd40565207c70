import { isDeepStrictEqual } from 'node:util'
import type { PurgeOrder } from '@svc/cache'
import { type Config, hasApp, type SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { orderOfChange } from './site-changes.ts'
import type { ChangedSite, MarkedSite, SiteMarks } from './site-marks.ts'

/** What is done when the sites in service change. */
interface ServedSitesOptions {
  readonly marks: SiteMarks
  /** Whether there are stored pages at all. */
  readonly hasPages: () => boolean
  readonly purge: (order: PurgeOrder) => Promise<unknown>
  /** Has a site looked at in the background: its problems are logged, and what is known of it in advance is rendered. */
  readonly survey: (site: string) => void
  readonly logger: Logger
}

/** What of a generation decides what pages look like. */
interface ServedSpec {
  readonly sites: readonly SiteConfig[]
  readonly config: Pick<Config, 'env'>
}

function markedSites({ sites, config }: ServedSpec): MarkedSite[] {
  return sites.filter(hasApp).map((site) => marked(site, config.env))
}

/** The share of a site in the caches says nothing about its pages. */
function marked(site: SiteConfig, env: MarkedSite['env']): MarkedSite {
  return { site: { ...site, cache_weight: 1 }, env }
}

/** Sites of one generation that are not the same in another. */
function notIn(these: ServedSpec, others: ServedSpec): MarkedSite[] {
  const known = new Map(markedSites(others).map((one) => [one.site.id, one]))
  return markedSites(these).filter((one) => !isDeepStrictEqual(one, known.get(one.site.id)))
}

/** The purge for sites that are others now, or gone. */
function orderOfReload(labels: readonly string[]): PurgeOrder {
  return { layers: ['isr'], scopes: [{ kind: 'labels', labels }], mode: 'drop', changedCode: labels }
}

/** The purge for a site that was changed while the instance was down. As in a reload, nothing of other settings is left. */
function orderOf({ site, change }: ChangedSite): PurgeOrder | undefined {
  if (change === 'code') return orderOfChange(site, { routes: null, movesPaths: false })
  return orderOfReload([site.label])
}

/** Keeps stored pages from outliving the site that made them, over reloads and restarts, and has new ones made in advance. */
export class ServedSites {
  readonly #options: ServedSitesOptions

  constructor(options: ServedSitesOptions) {
    this.#options = options
  }

  /** Before the instance says that it is ready: pages of sites that were changed while it was down must not pass for fresh. */
  async begin(spec: ServedSpec): Promise<void> {
    const { marks, hasPages, purge } = this.#options
    try {
      marks.retain(spec.sites)
      const changed = await marks.update(markedSites(spec))
      const orders = hasPages() ? changed.flatMap((site) => orderOf(site) ?? []) : []
      for (const mode of ['stale', 'drop'] as const) {
        const own = orders.filter((order) => order.mode === mode)
        const scopes = own.flatMap((order) => order.scopes)
        const changedCode = own.flatMap((order) => order.changedCode ?? [])
        if (scopes.length > 0) await purge({ layers: ['isr'], scopes, mode, changedCode })
      }
      await marks.save()
    } catch (error) {
      this.#failed(error, undefined)
    }
  }

  /** Whether a site's files or settings are others than those that its stored pages were made of. */
  isChanged(site: SiteConfig, env: MarkedSite['env']): Promise<boolean> {
    return this.#options.marks.isChanged(marked(site, env))
  }

  /** All processes are up. Sites with a process of their own wait for that. */
  ready(sites: readonly SiteConfig[]): void {
    for (const { id, process } of sites.filter(hasApp)) if (process !== 'own') this.#options.survey(id)
  }

  /** A reload has replaced the configuration in all processes. Resolves when nothing of changed or removed sites is left. */
  async reloaded(before: ServedSpec, after: ServedSpec): Promise<void> {
    const { marks, purge, survey } = this.#options
    const labels = notIn(before, after).map(({ site }) => site.label)
    const renewed = notIn(after, before)
    if (labels.length === 0 && renewed.length === 0) return
    try {
      // Before the purge: what changes after it was looked at is the next change.
      const looked = await Promise.all(renewed.map(async (site) => [site, await marks.look(site)] as const))
      if (labels.length > 0) await purge(orderOfReload(labels))
      marks.retain(after.sites)
      for (const [site, mark] of looked) marks.note(site, mark)
      await marks.save()
    } catch (error) {
      this.#failed(error, undefined)
    }
    for (const { site } of renewed) survey(site.id)
  }

  /**
   * Files of a site have changed. Looks at them as they are now; what it resolves with notes that state, and is to be called when
   * the stored pages were purged. A change that comes in between is none that this purge was about.
   */
  async changing(site: SiteConfig, env: MarkedSite['env']): Promise<() => Promise<void>> {
    const { marks, survey } = this.#options
    const changed = marked(site, env)
    const mark = await marks.look(changed)
    return async () => {
      survey(site.id)
      try {
        marks.note(changed, mark)
        await marks.save()
      } catch (error) {
        this.#failed(error, site.id)
      }
    }
  }

  #failed(error: unknown, site: string | undefined): void {
    this.#options.logger.error({ site, err: asError(error) }, 'stored pages could not be brought up to date with their sites')
  }
}
