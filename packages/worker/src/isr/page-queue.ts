import { asError } from '@svc/core'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { IsrCache } from './isr-cache.ts'
import { backgroundOf, type PageTarget } from './page-target.ts'

/** A page of a site. */
export interface SitePage extends PageTarget {
  /** Id of the site. */
  readonly site: string
}

/** Dependencies of a `PageQueue`. */
interface PageQueueOptions {
  readonly generation: () => ServingGeneration | undefined
  readonly cache: () => IsrCache | undefined
  readonly onProblem: (error: Error) => void
}

/** Renders at a time: clients come first. */
const PARALLEL = 4
/** Further pages are refused. */
const MAX_QUEUED = 10_000

/** Renders pages on request of an operator into the store, in the background: those that are not there, or not fresh. */
export class PageQueue {
  readonly #options: PageQueueOptions
  /** By identity of the page. */
  readonly #due = new Map<string, SitePage>()
  #rendering = 0
  #isStopped = false

  constructor(options: PageQueueOptions) {
    this.#options = options
  }

  /** Queues pages. Returns how many of them are queued now; 0 if pages are not cached. */
  add(pages: readonly SitePage[]): number {
    if (this.#isStopped || this.#options.cache() === undefined) return 0
    let queued = 0
    for (const page of pages) {
      const key = [page.site, page.path, page.query, page.origin].join('\0')
      if (this.#due.size >= MAX_QUEUED && !this.#due.has(key)) break
      this.#due.set(key, page)
      queued++
    }
    for (let free = Math.min(PARALLEL - this.#rendering, this.#due.size); free > 0; free--) void this.#renderAll()
    return queued
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isStopped = true
    this.#due.clear()
  }

  async #renderAll(): Promise<void> {
    this.#rendering++
    for (const [key, page] of this.#due) {
      this.#due.delete(key)
      await this.#render(page).catch((error) => this.#options.onProblem(asError(error)))
    }
    this.#rendering--
  }

  async #render(page: SitePage): Promise<void> {
    const { generation, cache } = this.#options
    const current = generation()
    const site = current?.sites.get(page.site)
    if (current === undefined || site === undefined) return
    const background = backgroundOf(site, await site.app(), page, current.config)
    if (background !== undefined) await cache()?.warm(background)
  }
}
