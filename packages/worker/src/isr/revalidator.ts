import { type Fill, pathTag } from '@svc/cache'
import { asError, type BackoffPolicy, type BackoffState, delayMs, noFailures, recordFailure } from '@svc/core'
import { isStale as isStaleManifest } from '../pipeline/stages/render-plan.ts'
import { type IsrParts, keyNow, lookUp } from './isr-parts.ts'
import type { Made } from './keeper.ts'
import { acquireLease, type Lease } from './leases.ts'
import type { PageAddress } from './page-address.ts'
import type { BackgroundRender } from './page-ask.ts'
import { type FillEnd, PageFill } from './page-fill.ts'

/** What became of a background render. `skipped`: another one did it, or it is not its time. */
export type BackgroundOutcome = 'stored' | 'skipped' | 'not-stored' | 'failed'

const BACKOFF: BackoffPolicy = { firstMs: 1_000, maxMs: 60_000, resetAfterMs: 300_000 }
/** Background renders of this worker at a time: clients come first. A stale page that finds no place asks again at its next request. */
const MAX_RUNNING = 32
/** Keys whose failures are remembered. */
const MAX_FAILURES = 10_000

/** What the store does not take leaves the old entry there: it is not tried again at once. */
const KEPT_OUTCOMES = { stored: 'stored', purged: 'skipped', refused: 'failed' } as const

/** Renders stale entries anew: each key once in the instance, and after failures with growing pauses. */
export class Revalidator {
  readonly #parts: IsrParts
  readonly #running = new Set<string>()
  readonly #failures = new Map<string, BackoffState>()

  constructor(parts: IsrParts) {
    this.#parts = parts
  }

  /** Begins to render an entry anew, unless that is under way or failed a moment ago. */
  begin(key: string, make: () => BackgroundRender): void {
    if (this.#running.has(key) || this.#running.size >= MAX_RUNNING || this.#mustPause(key)) return
    this.#running.add(key)
    this.#revalidate(key, make())
      .catch((error) => {
        this.#failed(key)
        this.#parts.onProblem(asError(error))
      })
      .finally(() => this.#running.delete(key))
  }

  /** Renders an entry if it is missing or stale. Resolves when it is in the store, or will not be. Rejects when it fails. */
  async render(key: string, background: BackgroundRender): Promise<BackgroundOutcome> {
    const { leases, store } = this.#parts
    const answer = await acquireLease(leases, key, background.settings.waitMs)
    if (answer.kind === 'ended') return 'skipped'
    store.refresh()
    if (!background.mayBeKept()) {
      answer.lease.end('failed')
      return 'skipped'
    }
    if (this.#isFresh(key, background.address)) {
      answer.lease.end('stored')
      return 'skipped'
    }
    return await this.#fill(key, background, answer.lease)
  }

  /** Code of a label has changed: what failed before may work now. A key of a label begins with it and a NUL. */
  forgetLabel(label: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(`${label}\0`)) this.#failures.delete(key)
  }

  async #revalidate(key: string, background: BackgroundRender): Promise<void> {
    const { metrics } = this.#parts
    const outcome = await this.render(key, background)
    if (outcome === 'skipped') return
    if (outcome === 'failed') {
      this.#failed(key)
      return
    }
    this.#failures.delete(key)
    metrics.revalidations.success.value++
  }

  #mustPause(key: string): boolean {
    const state = this.#failures.get(key)
    return state !== undefined && this.#parts.clock.monotonic() < state.lastFailureAt + delayMs(state, BACKOFF)
  }

  #failed(key: string): void {
    this.#parts.metrics.revalidations.error.value++
    const state = recordFailure(this.#failures.get(key) ?? noFailures, BACKOFF, this.#parts.clock.monotonic())
    this.#failures.delete(key)
    this.#failures.set(key, state)
    const oldest = this.#failures.size > MAX_FAILURES ? this.#failures.keys().next().value : undefined
    if (oldest !== undefined) this.#failures.delete(oldest)
  }

  #isFresh(key: string, address: PageAddress): boolean {
    return keyNow(this.#parts, address) === key && lookUp(this.#parts, key)?.freshness === 'fresh'
  }

  async #fill(key: string, background: BackgroundRender, lease: Lease): Promise<BackgroundOutcome> {
    const { ledger } = this.#parts
    const fill = ledger.begin()
    let outcome: BackgroundOutcome = 'failed'
    try {
      const end = await this.#run(background)
      outcome = await this.#ended(key, background, fill, end)
    } finally {
      ledger.end(fill)
      lease.end(outcome === 'not-stored' ? 'pass' : outcome === 'stored' ? 'stored' : 'failed')
    }
    return outcome
  }

  #run({ request, settings }: BackgroundRender): Promise<FillEnd> {
    const { promise, resolve } = Promise.withResolvers<FillEnd>()
    const fill = new PageFill({
      client: undefined,
      maxBodyBytes: settings.maxBodyBytes,
      patienceMs: settings.waitMs,
      onEnd: resolve,
    })
    fill.clientLeft()
    this.#parts.renderer.render(request, undefined, fill)
    return promise
  }

  async #ended(key: string, background: BackgroundRender, fill: Fill, end: FillEnd): Promise<BackgroundOutcome> {
    switch (end.kind) {
      case 'failed':
        if (!isStaleManifest(end.error)) throw end.error
        background.onOutdated()
        return 'skipped'
      case 'unsent':
        return 'skipped'
      case 'unkept':
        return end.isFailure ? 'failed' : await this.#drop(key, background, end.detail)
      case 'made':
        return await this.#made(key, background, fill, end.made)
    }
  }

  async #made(key: string, background: BackgroundRender, fill: Fill, made: Made): Promise<BackgroundOutcome> {
    const { keeper } = this.#parts
    const { address, settings } = background
    const judgement = keeper.judge(made, address, settings, fill)
    if (judgement.verdict === 'failed') return 'failed'
    if (judgement.verdict === 'pass') return await this.#drop(key, background, judgement.detail)
    // Requests have led to it, or the site has named the path.
    return KEPT_OUTCOMES[await keeper.keep(judgement, fill, true)]
  }

  /** What was stored may not be stored any more, so the old entry must not go on being served either. */
  async #drop(key: string, { address }: BackgroundRender, detail: string): Promise<BackgroundOutcome> {
    const { store, passes } = this.#parts
    passes.add(key, detail)
    const entry = store.get(key)
    if (entry !== undefined) {
      const tags = [pathTag(address.label, address.path)]
      await store.purge({ number: entry.seq + 1, layers: ['isr'], scopes: [{ kind: 'tags', tags }], mode: 'drop' })
    }
    return 'not-stored'
  }
}
