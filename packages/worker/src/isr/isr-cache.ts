import { type EntryFacts, Fills, PassMemory, type Purge, RepeatedKeys, RetryPauses } from '@svc/cache'
import { type BackoffPolicy, delayMs } from '@svc/core'
import { ClientSink } from '../request/client-sink.ts'
import { cameBack } from '../request/request-loop.ts'
import { type Found, type IsrParts, keyNow, lookUp } from './isr-parts.ts'
import { passKeyOf } from './page-address.ts'
import { PageEntries } from './page-entries.ts'
import { PageFill, type PageFillCause, type PageFills, type PageWaiter } from './page-fill.ts'
import type { BackgroundRender, PageRequest } from './page-request.ts'
import { labelsOf } from './purged-labels.ts'
import { SharedBodies } from './shared-bodies.ts'
import { storabilityOf } from './storability.ts'
import { type IsrStatus, isrStatus, sendStored } from './stored-sender.ts'

type IsrCacheOptions = Omit<IsrParts, 'entries' | 'passes' | 'admission' | 'bodies'>

/** How often a request looks again because the fill it waited for did not answer it, before it is rendered alone. */
const MAX_ROUNDS = 4
/** A second request for a key that clients can make up counts when it comes within this time of the first. */
const ADMISSION_WINDOW_MS = 60_000
/** Between refreshes of a stale page that fail. */
const BACKOFF: BackoffPolicy = { firstMs: 1_000, maxMs: 60_000, resetAfterMs: 300_000 }

/** Answers requests for pages, and for handlers that declare a lifetime, from the store that all workers share. */
export class IsrCache {
  readonly #parts: IsrParts
  readonly #fills: PageFills
  readonly #pauses: RetryPauses

  constructor(options: IsrCacheOptions) {
    const { store, ledger, clock, leases, onProblem } = options
    const admission = new RepeatedKeys(ADMISSION_WINDOW_MS)
    const entries = new PageEntries({ store, ledger, admission, clock })
    this.#parts = { ...options, entries, admission, passes: new PassMemory(clock), bodies: new SharedBodies() }
    this.#fills = new Fills({ ledger, leases, clock, onProblem })
    this.#pauses = new RetryPauses(clock, (failures) => delayMs({ failures, lastFailureAt: 0 }, BACKOFF))
  }

  /** Answers a request: from the store, by the render of another request, or by a render of its own. */
  answer(request: PageRequest): void {
    const { clock, ledger } = this.#parts
    this.#serve({ request, deadlineMs: clock.monotonic() + request.settings.waitMs, seq: ledger.last, rounds: 0 })
  }

  /** Renders a page into the store, unless it is there and fresh. Rejects when the render fails. */
  async warm(background: BackgroundRender): Promise<void> {
    const key = keyNow(this.#parts, background.address)
    if (lookUp(this.#parts, key)?.freshness === 'fresh') return
    const fill = this.#fills.joinable(key) ?? this.#open(key, { kind: 'refresh', background }).fill
    const end = await fill.ended
    if (end.kind === 'failed' && end.error !== undefined) throw end.error
  }

  /** A purge has been noted: pages that could not be stored before it may be storable now. */
  purged(purge: Purge): void {
    const labels = labelsOf(purge)
    if (labels === undefined) this.#parts.passes.clear()
    else for (const label of labels) this.#parts.passes.forgetLabel(label)
  }

  /** Code of a label has changed: renders that failed before may succeed now. */
  siteChanged(label: string): void {
    this.#parts.passes.forgetLabel(label)
    this.#pauses.forgetLabel(label)
  }

  #serve(waiter: PageWaiter): void {
    const { request, rounds } = waiter
    const { metrics, passes } = this.#parts
    const key = keyNow(this.#parts, request.address)
    const found = lookUp(this.#parts, key)
    if (found !== undefined && found.freshness !== 'expired') {
      this.#hit(request, key, found)
      return
    }
    if (rounds === 0) metrics.misses.l1.value++
    const detail = passes.get(passKeyOf(key, request.address))
    if (detail !== undefined) this.#alone(waiter, { outcome: 'bypass', detail })
    else if (!mayShare(request)) this.#alone(waiter, { outcome: 'uri-miss' })
    else this.#miss(key, waiter)
  }

  #hit(request: PageRequest, key: string, { entry, freshness }: Found): void {
    const { clock, metrics } = this.#parts
    metrics.hits.l1.value++
    sendStored(this.#parts, request.context, entry, hitStatus(entry, clock.now()))
    if (freshness === 'stale') this.#refresh(key, request)
  }

  #miss(key: string, waiter: PageWaiter): void {
    const { admission, clock } = this.#parts
    const isRepeated = admission.note(key, clock.monotonic())
    const fill = this.#fills.joinable(key)?.policy
    if (fill === undefined) this.#open(key, { kind: 'request', opener: waiter, isRepeated })
    else if (!cameBack(waiter.request.context)) fill.join(waiter)
    else {
      fill.noteRepeated()
      this.#alone(waiter, { outcome: 'uri-miss' })
    }
  }

  /** Renders a stale page in the background: each key once in the instance, and after failures with growing pauses. */
  #refresh(key: string, request: PageRequest): void {
    if (this.#fills.joinable(key) !== undefined || !this.#fills.hasRoomToRefresh || this.#pauses.isPaused(key)) return
    const policy = this.#open(key, { kind: 'refresh', background: request.background() })
    const { metrics, onProblem } = this.#parts
    void policy.fill.ended.then((end) => {
      const { kind } = end
      if (!policy.hasRendered || kind === 'lost') return
      const isSuccess = kind === 'stored' || kind === 'pass'
      if (isSuccess) this.#pauses.succeeded(key)
      else this.#pauses.failed(key)
      metrics.revalidations[isSuccess ? 'success' : 'error'].value++
      if (kind === 'failed' && end.error !== undefined) onProblem(end.error)
    })
  }

  #open(key: string, cause: PageFillCause): PageFill {
    const policy = new PageFill(key, cause, this.#parts, this.#fills, {
      again: (waiter) => this.#again(waiter),
      alone: (waiter, detail) =>
        this.#alone(waiter, detail === undefined ? { outcome: 'uri-miss' } : { outcome: 'bypass', detail }),
    })
    if (cause.kind === 'request') policy.wait(cause.opener)
    policy.fill.start()
    return policy
  }

  #again(waiter: PageWaiter): void {
    const { request, rounds } = waiter
    if (request.isOutdated()) request.matchAgain()
    else if (rounds >= MAX_ROUNDS) this.#alone(waiter, { outcome: 'uri-miss' })
    else this.#serve({ ...waiter, rounds: rounds + 1 })
  }

  /** Renders for one request, and remembers the hints of the response for the next ones. */
  #alone({ request }: PageWaiter, status: IsrStatus): void {
    const { context, address, settings } = request
    const { passes, renderer } = this.#parts
    context.cacheStatus = isrStatus(status)
    const sink = new ClientSink(context, {
      failed: (error) => request.fail(error),
      completed: (head, facts) => {
        if (!mayShare(request)) return
        const key = passKeyOf(keyNow(this.#parts, address), address)
        const storability = storabilityOf({ ...head, facts }, address, settings)
        if (storability.verdict === 'pass') passes.add(key, storability.detail)
        else passes.delete(key)
      },
    })
    renderer.render(request.requestFor('own'), undefined, sink)
  }
}

/** True if the response to this request can be for all clients. The response of a handler to HEAD says nothing of its body. */
function mayShare({ context, address }: PageRequest): boolean {
  return context.request.method === 'GET' || address.kind !== 'handler'
}

/** A response served past its time has a negative ttl (RFC 9211 section 2.1). */
function hitStatus({ createdAt, ttlMs, isMarkedStale }: EntryFacts, now: number): IsrStatus {
  if (ttlMs === null) return isMarkedStale ? { outcome: 'hit', ttlSeconds: 0 } : { outcome: 'hit' }
  const ttlSeconds = Math.floor((createdAt + ttlMs - now) / 1000)
  return { outcome: 'hit', ttlSeconds: isMarkedStale ? Math.min(0, ttlSeconds) : ttlSeconds }
}
