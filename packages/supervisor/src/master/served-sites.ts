import { isDeepStrictEqual } from 'node:util'
import type { PurgeOrder } from '@svc/cache'
import { type Config, hasApp, type SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { orderOfChange } from './site-changes.ts'
import type { ChangedSite, MarkedSite, SiteMarks } from './site-marks.ts'

/** Options of `ServedSites`. */
interface ServedSitesOptions {
  readonly marks: SiteMarks
  /** True if there are any stored pages. */
  readonly hasPages: () => boolean
  readonly purge: (order: PurgeOrder) => Promise<unknown>
  /** Surveys a site in the background: logs its problems and renders its pages that are known in advance. */
  readonly survey: (site: string) => void
  readonly logger: Logger
}

/** The parts of a generation that determine the content of pages. */
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

/** Returns the sites of one generation that differ in another. */
function notIn(these: ServedSpec, others: ServedSpec): MarkedSite[] {
  const known = new Map(markedSites(others).map((one) => [one.site.id, one]))
  return markedSites(these).filter((one) => !isDeepStrictEqual(one, known.get(one.site.id)))
}

/** Returns the purge for changed or removed sites. */
function orderOfReload(labels: readonly string[]): PurgeOrder {
  return { layers: ['isr'], scopes: [{ kind: 'labels', labels }], mode: 'drop', changedCode: labels }
}

/** Returns the purge for a site that changed while the instance was down. As in a reload, no entry of other settings is left. */
function orderOf({ site, change }: ChangedSite): PurgeOrder | undefined {
  if (change === 'code') return orderOfChange(site, { routes: null, movesPaths: false })
  return orderOfReload([site.label])
}

/** Purges stored pages of changed sites, over reloads and restarts, and has new ones rendered in advance. */
export class ServedSites {
  readonly #options: ServedSitesOptions

  constructor(options: ServedSitesOptions) {
    this.#options = options
  }

  /** Called before the instance is ready: pages of sites that changed while it was down must not count as fresh. */
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

  /** True if a site's files or settings have changed since its stored pages were rendered. */
  isChanged(site: SiteConfig, env: MarkedSite['env']): Promise<boolean> {
    return this.#options.marks.isChanged(marked(site, env))
  }

  /** Called when all processes are up, which sites with a process of their own wait for. */
  ready(sites: readonly SiteConfig[]): void {
    for (const { id, process } of sites.filter(hasApp)) if (process !== 'own') this.#options.survey(id)
  }

  /** Called when a reload has replaced the configuration in all processes. Resolves when no entry of changed or removed sites is left. */
  async reloaded(before: ServedSpec, after: ServedSpec): Promise<void> {
    const { marks, purge, survey } = this.#options
    const labels = notIn(before, after).map(({ site }) => site.label)
    const renewed = notIn(after, before)
    if (labels.length === 0 && renewed.length === 0) return
    try {
      // Before the purge: a later edit counts as the next change.
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
   * Called when files of a site have changed. Reads their current state. Resolves with a function that records this state; call
   * it after the purge of the stored pages. The purge does not cover a change in between.
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
    this.#options.logger.error({ site, err: asError(error) }, 'failed to purge stored pages of changed sites')
  }
}
