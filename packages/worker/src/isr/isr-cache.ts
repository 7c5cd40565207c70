import {
  type EntryFacts,
  Fills,
  type LeaseDesk,
  PassMemory,
  type Purge,
  type PurgeOrder,
  type PurgeScope,
  RepeatedKeys,
  RetryPauses,
} from '@svc/cache'
import { type BackoffPolicy, delayMs } from '@svc/core'
import { ClientSink } from '../request/client-sink.ts'
import { cameBack } from '../request/request-loop.ts'
import { passKeyOf } from './page-address.ts'
import { type EntrySharing, type FoundEntry, PageEntries, storabilityOf } from './page-entries.ts'
import { type IsrTools, PageFill, type PageFillCause, type PageFills, type PageWaiter } from './page-fill.ts'
import type { BackgroundRender, PageRequest } from './page-request.ts'
import { type IsrStatus, isrStatus, SharedBodies, sendStored } from './stored-sender.ts'

/** Dependencies of the cache of a worker. */
interface IsrCacheOptions extends Omit<IsrTools, 'entries' | 'passes' | 'admission' | 'bodies'> {
  readonly store: ConstructorParameters<typeof PageEntries>[0]['store']
  readonly leases: LeaseDesk
  readonly sharing?: EntrySharing | undefined
}

/** How often a request looks again because the fill it waited for did not answer it, before it is rendered alone. */
const MAX_ROUNDS = 4
/** A second request for a key that clients can make up counts when it comes within this time of the first. */
const ADMISSION_WINDOW_MS = 60_000
/** Between refreshes of a stale page that fail. */
const BACKOFF: BackoffPolicy = { firstMs: 1_000, maxMs: 60_000, resetAfterMs: 300_000 }

/** Answers requests for pages, and for handlers that declare a lifetime, from the store that all workers share. */
export class IsrCache {
  readonly #tools: IsrTools
  readonly #fills: PageFills
  readonly #pauses: RetryPauses

  constructor(options: IsrCacheOptions) {
    const { store, ledger, clock, leases, sharing, onProblem } = options
    const admission = new RepeatedKeys(ADMISSION_WINDOW_MS)
    const entries = new PageEntries({ store, sharing, ledger, admission, clock })
    this.#tools = { ...options, entries, admission, passes: new PassMemory(clock), bodies: new SharedBodies() }
    this.#fills = new Fills({ ledger, leases, clock, onProblem })
    this.#pauses = new RetryPauses(clock, (failures) => delayMs({ failures, lastFailureAt: 0 }, BACKOFF))
  }

  /** Answers a request: from the store, by the render of another request, or by a render of its own. */
  answer(request: PageRequest): void {
    const { clock, ledger } = this.#tools
    request.context.enter('isr')
    this.#serve({ request, deadlineMs: clock.monotonic() + request.settings.waitMs, seq: ledger.last, rounds: 0 })
  }

  /** Renders a page into the store, unless it is there and fresh. Rejects when the render fails. */
  async warm(background: BackgroundRender): Promise<void> {
    const key = this.#tools.entries.keyOf(background.address)
    if (this.#tools.entries.find(key)?.freshness === 'fresh') return
    const fill = this.#fills.joinable(key) ?? this.#open(key, { kind: 'refresh', background }).fill
    const end = await fill.ended
    if (end.kind === 'failed' && end.error !== undefined) throw end.error
  }

  /** A purge has been noted: pages that could not be stored before it may be storable now. */
  purged(purge: Purge): void {
    const labels = labelsOf(purge)
    if (labels === undefined) this.#tools.passes.clear()
    else for (const label of labels) this.#tools.passes.forgetLabel(label)
  }

  /** Code of a label has changed: renders that failed before may succeed now. */
  siteChanged(label: string): void {
    this.#tools.passes.forgetLabel(label)
    this.#pauses.forgetLabel(label)
  }

  #serve(waiter: PageWaiter): void {
    const { request, rounds } = waiter
    const { entries, metrics, passes } = this.#tools
    const key = entries.keyOf(request.address)
    const found = entries.find(key)
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

  #hit(request: PageRequest, key: string, { entry, freshness }: FoundEntry): void {
    const { clock, metrics } = this.#tools
    metrics.hits.l1.value++
    request.context.enter('write', freshness === 'stale' ? 'stale' : 'hit')
    sendStored(this.#tools, request.context, entry, hitStatus(entry, clock.now()))
    if (freshness === 'stale') this.#refresh(key, request)
  }

  #miss(key: string, waiter: PageWaiter): void {
    const { admission, clock } = this.#tools
    waiter.request.context.enter('lease', 'miss')
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
    if (this.#fills.joinable(key) !== undefined || !this.#fills.hasRoomToRefresh(key) || this.#pauses.isPaused(key)) return
    const policy = this.#open(key, { kind: 'refresh', background: request.background() })
    const { metrics, onProblem } = this.#tools
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
    const policy = new PageFill(key, cause, this.#tools, this.#fills, {
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
    if (request.isOutdated()) request.exits.matchAgain()
    else if (rounds >= MAX_ROUNDS) this.#alone(waiter, { outcome: 'uri-miss' })
    else this.#serve({ ...waiter, rounds: rounds + 1 })
  }

  /** Renders for one request, and remembers the hints of the response for the next ones. */
  #alone({ request }: PageWaiter, status: IsrStatus): void {
    const { context, address, settings } = request
    const { entries, passes, renderer } = this.#tools
    context.cacheStatus = isrStatus(status)
    context.enter('render', status.outcome === 'bypass' ? 'bypass' : 'miss')
    const sink = new ClientSink(context, {
      failed: (error) => request.exits.fail(error),
      completed: (head, facts) => {
        if (!mayShare(request)) return
        const key = passKeyOf(entries.keyOf(address), address)
        const storability = storabilityOf({ head, facts }, address, settings)
        if (storability.verdict === 'pass') passes.add(key, storability.detail)
        else passes.delete(key)
      },
    })
    renderer.render(request.renderRequest('own'), undefined, sink)
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

/** The labels that a scope can be about; undefined: any. */
function labelsOfScope(scope: PurgeScope): readonly string[] | undefined {
  switch (scope.kind) {
    case 'labels':
      return scope.labels
    case 'pattern':
      return scope.labels ?? undefined
    case 'tags':
      // `route:<label>:<name>`; no label holds a colon.
      return scope.tags.map((tag) => tag.split(':', 2)[1] ?? '')
    case 'everything':
    case 'hosts':
    case 'paths':
    case 'prefixes':
    case 'uris':
      return undefined
  }
}

/** The labels whose stored responses a purge can be about; undefined: any. A purge of other layers is about none. */
function labelsOf({ layers, scopes, labels: bound }: PurgeOrder): ReadonlySet<string> | undefined {
  const labels = new Set<string>()
  if (!layers.includes('isr')) return labels
  if (bound !== undefined) return new Set(bound)
  for (const scope of scopes) {
    const own = labelsOfScope(scope)
    if (own === undefined) return undefined
    for (const label of own) labels.add(label)
  }
  return labels
}
