import { isDeepStrictEqual } from 'node:util'
import type { PurgeOrder } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { orderOfChange } from './site-changes.ts'
import type { SiteMarks } from './site-marks.ts'

/** What is done when the sites in service change. */
export interface ServedSitesOptions {
  readonly marks: SiteMarks
  /** Whether there are stored pages at all. */
  readonly hasPages: () => boolean
  readonly purge: (order: PurgeOrder) => Promise<unknown>
  /** Has one worker render what is known in advance of a site. */
  readonly warm: (site: string) => void
  readonly logger: Logger
}

/** Keeps stored pages from outliving the site that made them, over reloads and restarts, and has new ones made in advance. */
export class ServedSites {
  readonly #options: ServedSitesOptions

  constructor(options: ServedSitesOptions) {
    this.#options = options
  }

  /** Before the instance says that it is ready: pages of sites that were changed while it was down must not pass for fresh. */
  async begin(sites: readonly SiteConfig[]): Promise<void> {
    const { marks, hasPages, purge } = this.#options
    try {
      marks.retain(sites)
      const changed = await marks.update(sites)
      const orders = hasPages() ? changed.flatMap((site) => orderOfChange(site, null) ?? []) : []
      for (const mode of ['stale', 'drop'] as const) {
        const scopes = orders.filter((order) => order.mode === mode).flatMap((order) => order.scopes)
        if (scopes.length > 0) await purge({ layers: ['isr'], scopes, mode })
      }
      await marks.save()
    } catch (error) {
      this.#failed(error, undefined)
    }
  }

  /** All processes are up. */
  ready(sites: readonly SiteConfig[]): void {
    for (const { id } of sites) this.#options.warm(id)
  }

  /** A reload has replaced the configuration in all processes. Resolves when nothing of changed or removed sites is left. */
  async reloaded(before: readonly SiteConfig[], after: readonly SiteConfig[]): Promise<void> {
    const { marks, purge, warm } = this.#options
    const kept = new Map(after.map((site) => [site.id, site]))
    const labels = before.filter((site) => !isDeepStrictEqual(site, kept.get(site.id))).map(({ label }) => label)
    const known = new Map(before.map((site) => [site.id, site]))
    const renewed = after.filter((site) => !isDeepStrictEqual(site, known.get(site.id)))
    if (labels.length === 0 && renewed.length === 0) return
    try {
      if (labels.length > 0) await purge({ layers: ['isr'], scopes: [{ kind: 'labels', labels }], mode: 'drop' })
      marks.retain(after)
      await marks.update(renewed)
      await marks.save()
    } catch (error) {
      this.#failed(error, undefined)
    }
    for (const { id } of renewed) warm(id)
  }

  /** Files of a site have changed, and its stored pages were purged. */
  async changed(site: SiteConfig): Promise<void> {
    const { marks, warm } = this.#options
    warm(site.id)
    try {
      await marks.update([site])
      await marks.save()
    } catch (error) {
      this.#failed(error, site.id)
    }
  }

  #failed(error: unknown, site: string | undefined): void {
    this.#options.logger.error({ site, err: asError(error) }, 'stored pages could not be brought up to date with their sites')
  }
}
