import type { FillEnd, FillPolicy, Fills, LateWaiter, SharedFill } from '@svc/cache'
import { asError } from '@svc/core'
import { WorkerError } from '../errors/errors.ts'
import { isStaleManifest } from '../render-client/renderer.ts'
import { ClientSink } from '../request/client-sink.ts'
import { cameBack } from '../request/request-loop.ts'
import { type IsrParts, keyNow, lookUp } from './isr-parts.ts'
import { keyOf, passKeyOf } from './page-address.ts'
import type { Made, PageEntry, PageVerdict } from './page-entries.ts'
import type { BackgroundRender, PageRequest } from './page-request.ts'
import { type RenderEnd, type RenderLeader, SharedRender } from './shared-render.ts'
import { isrStatus, sendStored } from './stored-sender.ts'

/** A request on its way through the cache. */
export interface PageWaiter {
  readonly request: PageRequest
  /** Until when it waits for others: milliseconds of the monotonic clock. */
  readonly deadlineMs: number
  /** Number of the last purge that was known when it came. */
  readonly seq: number
  /** How often it was looked up again. */
  readonly rounds: number
}

export type PageFills = Fills<PageWaiter, PageFill>

/** Fallback for requests that a fill cannot answer. */
interface PageFillExits {
  /** Looks again, from the start. */
  again(waiter: PageWaiter): void
  /** Renders for this request alone. */
  alone(waiter: PageWaiter, detail: string | undefined): void
}

/** The reason for a fill: a request that missed, or the store alone (a refresh). */
export type PageFillCause =
  | { readonly kind: 'request'; readonly opener: PageWaiter; readonly isRepeated: boolean }
  | { readonly kind: 'refresh'; readonly background: BackgroundRender }

interface Judged {
  readonly verdict: PageVerdict
  /** True if it is stored at all: an entry whose key clients can make up must have been requested twice. */
  readonly isAdmitted: boolean
}

/** A missing or stale page that is rendered: the policy of the ISR cache for one fill. */
export class PageFill implements FillPolicy<PageWaiter> {
  readonly fill: SharedFill<PageWaiter, PageFill>
  readonly #parts: IsrParts
  readonly #exits: PageFillExits
  readonly #cause: PageFillCause
  /** True if the key was requested before, or is again while the fill lasts. */
  #isRepeated: boolean
  #leader: PageWaiter | undefined
  #render: SharedRender | undefined
  /** Made of a whole response, once. */
  #judged: Judged | undefined
  /** The entry for joining requests while it is being committed: until then no look-up finds it in the store. */
  #answer: PageEntry | undefined
  /** An error page that holds nothing of the request that it was rendered for. */
  #errorPage: Made | undefined
  /** True if a request that timed out waiting for another process renders for itself. */
  #hasLateRender = false

  constructor(key: string, cause: PageFillCause, parts: IsrParts, fills: PageFills, exits: PageFillExits) {
    this.#parts = parts
    this.#exits = exits
    this.#cause = cause
    this.#isRepeated = cause.kind === 'refresh' || cause.isRepeated
    const { settings } = this.#subject
    const mayWait = cause.kind === 'refresh' || !cameBack(cause.opener.request.context)
    const lease = mayWait ? { key, waitMs: settings.waitMs } : undefined
    this.fill = fills.open(key, this, { lease, isRefresh: cause.kind === 'refresh' })
  }

  /** True if it got as far as a render. */
  get hasRendered(): boolean {
    return this.#render !== undefined
  }

  /** Takes another request for the key. */
  join(waiter: PageWaiter): void {
    const { metrics } = this.#parts
    this.#isRepeated = true
    if (waiter.rounds === 0) metrics.coalesced.value++
    this.wait(waiter)
  }

  /** Lets a request wait. One whose client leaves is forgotten. */
  wait(waiter: PageWaiter): void {
    this.fill.join(waiter, waiter.deadlineMs)
    waiter.request.context.onClosed(() => this.fill.leave(waiter))
  }

  /** Notes that the key was requested, by a request that may not wait. */
  noteRepeated(): void {
    this.#isRepeated = true
  }

  /** Looks once more: another process may have stored the page between the look-up and the lease. */
  ready(first: PageWaiter | undefined): 'fill' | 'stored' | 'lost' {
    const cause = this.#cause
    this.#parts.store.refresh()
    const { address } = first?.request ?? this.#subject
    const isSameKey = keyNow(this.#parts, address) === this.fill.key
    const freshness = isSameKey ? lookUp(this.#parts, this.fill.key)?.freshness : undefined
    if (cause.kind === 'refresh') {
      if (!cause.background.mayBeKept()) return 'lost'
      return freshness === 'fresh' ? 'stored' : 'fill'
    }
    if (!isSameKey || freshness === 'fresh' || freshness === 'stale') return 'stored'
    return first?.request.isOutdated() === true ? 'lost' : 'fill'
  }

  produce(leader: PageWaiter | undefined): void {
    const { clock, renderer } = this.#parts
    const { settings } = leader?.request ?? this.#subject
    this.#leader = leader
    const render = new SharedRender({
      leader: leader && this.#leaderOf(leader),
      maxBodyBytes: settings.maxBodyBytes,
      patienceMs: settings.waitMs,
      clock,
      onEnd: (end) => this.#rendered(end),
    })
    this.#render = render
    if (leader === undefined) render.clientLeft()
    const request = leader?.request.requestFor('shared') ?? this.#background?.request
    if (request !== undefined) renderer.render(request, undefined, render)
  }

  /**
   * Sends the page to a request for the same key, unless it came after a purge that covers the page. One that came before the
   * purge gets it like the client of the render: else purges in a row would leave all of them without one.
   */
  give({ request, seq }: PageWaiter): 'given' | 'wait' {
    const answer = this.#answer
    if (answer === undefined || keyOf(request.address, answer.variance) !== answer.key) return 'wait'
    if (!this.#parts.ledger.mayGive(this.fill, answer.entry, seq)) return 'wait'
    const isStored = this.#parts.entries.isCurrent(answer, this.fill)
    sendStored(this.#parts, request.context, answer.entry, { outcome: 'uri-miss', isStored, isCollapsed: true })
    return 'given'
  }

  settled(end: FillEnd): void {
    const { metrics, passes, store } = this.#parts
    const cause = this.#cause
    if (end.kind === 'pass') passes.add(this.#passKey, end.detail)
    if (end.kind !== 'elsewhere') return
    store.refresh()
    if (cause.kind === 'refresh') return
    const { opener } = cause
    if (opener.rounds === 0) metrics.coalesced.value++
    if (end.outcome === 'pass') passes.add(passKeyOf(this.fill.key, opener.request.address), 'elsewhere')
  }

  dismiss(waiter: PageWaiter, reason: FillEnd | LateWaiter): void {
    switch (reason.kind) {
      case 'stored':
      case 'refused':
      case 'lost':
      case 'elsewhere':
        this.#exits.again(waiter)
        return
      case 'pass':
        this.#exits.alone(waiter, reason.detail)
        return
      case 'unshared':
        if (!this.#sendExpired(waiter)) this.#exits.alone(waiter, reason.detail)
        return
      case 'failed':
        // Requests that came meanwhile do not fail with the refresh.
        if (this.fill.isRefresh) this.#exits.again(waiter)
        else this.#fail(waiter, reason.error)
        return
      case 'late':
        this.#late(waiter)
    }
  }

  get #background(): BackgroundRender | undefined {
    return this.#cause.kind === 'refresh' ? this.#cause.background : undefined
  }

  /** The inputs of the render, if no request leads the fill. */
  get #subject(): Pick<PageRequest, 'address' | 'settings'> {
    return this.#cause.kind === 'refresh' ? this.#cause.background : this.#cause.opener.request
  }

  get #passKey(): string {
    const { key } = this.fill
    return this.#leader === undefined ? key : passKeyOf(key, this.#leader.request.address)
  }

  #leaderOf(leader: PageWaiter): RenderLeader {
    const { context } = leader.request
    const outcome = lookUp(this.#parts, this.fill.key) === undefined ? 'uri-miss' : 'stale'
    context.cacheStatus = isrStatus({ outcome })
    return {
      sink: new ClientSink(context, { failed: (error) => leader.request.fail(error) }),
      takesWhole: (made) => this.#answerLeader(leader, made, outcome),
      takesFailure: (error) => !isStaleManifest(error) && this.#sendExpired(leader),
    }
  }

  /** Sends a complete response to the client that it was rendered for, according to its verdict. */
  #answerLeader(leader: PageWaiter, made: Made, outcome: 'uri-miss' | 'stale'): boolean {
    const { context } = leader.request
    const { verdict, isAdmitted } = this.#judge(made)
    switch (verdict.verdict) {
      case 'store': {
        const isStored = isAdmitted && this.#parts.entries.isCurrent(verdict, this.fill)
        sendStored(this.#parts, context, verdict.entry, { outcome, isStored })
        return true
      }
      case 'pass':
        context.cacheStatus = isrStatus({ outcome: 'bypass', detail: verdict.detail })
        return false
      case 'failed':
        return this.#sendExpired(leader)
    }
  }

  #judge(made: Made): Judged {
    if (this.#judged !== undefined) return this.#judged
    const { entries } = this.#parts
    const { address, settings } = this.#leader?.request ?? this.#subject
    const verdict = entries.judge(made, address, settings, this.fill)
    const isAdmitted = verdict.verdict === 'store' && entries.isAdmitted(verdict, this.fill.key, this.#isRepeated)
    this.#judged = { verdict, isAdmitted }
    return this.#judged
  }

  #rendered(end: RenderEnd): void {
    switch (end.kind) {
      case 'made':
        this.#made(end.made)
        return
      case 'unstorable':
        if (!end.isFailure) this.#pass(end.detail)
        else if (this.fill.isRefresh) this.fill.end({ kind: 'failed', error: undefined })
        else this.fill.end({ kind: 'unshared', detail: end.detail })
        return
      case 'failed':
        if (this.#background === undefined || !isStaleManifest(end.error)) this.fill.end(end)
        else {
          this.#background.onOutdated()
          this.fill.end({ kind: 'lost' })
        }
        return
      case 'unsent':
        // Other requests wait for the page: one of them renders it for itself.
        this.fill.end({ kind: 'lost' })
    }
  }

  #made(made: Made): void {
    const { verdict } = this.#judge(made)
    switch (verdict.verdict) {
      case 'store':
        this.#unlessItFails(this.#store(verdict))
        return
      case 'pass':
        if (verdict.detail === 'host' && this.#leader !== undefined) {
          // It says nothing about requests that wait under a name of the site.
          this.#parts.passes.add(this.#passKey, verdict.detail)
          this.fill.end({ kind: 'lost' })
        } else this.#pass(verdict.detail)
        return
      case 'failed':
        if (verdict.isCommon) this.#errorPage = made
        if (verdict.isCommon || this.fill.isRefresh) this.fill.end({ kind: 'failed', error: undefined })
        else this.fill.end({ kind: 'unshared', detail: 'status' })
    }
  }

  /** Serves the waiting requests, and stores the entry. */
  async #store(entry: PageEntry): Promise<void> {
    const { entries, passes } = this.#parts
    passes.delete(this.fill.key)
    this.#answer = entry
    this.fill.offer()
    const isAdmitted = this.#judged?.isAdmitted === true
    this.fill.end({ kind: isAdmitted ? await entries.store(entry, this.fill, this.#isRepeated) : 'lost' })
  }

  #pass(detail: string): void {
    if (this.#background === undefined) this.fill.end({ kind: 'pass', detail })
    else this.#unlessItFails(this.#drop(this.#background, detail))
  }

  /** The page may not be stored any more, so its old entry must not go on being served either. */
  async #drop({ address }: BackgroundRender, detail: string): Promise<void> {
    await this.#parts.entries.drop(this.fill.key, address)
    this.fill.end({ kind: 'pass', detail })
  }

  #unlessItFails(work: Promise<void>): void {
    work.catch((error) => {
      this.#parts.onProblem(asError(error))
      this.fill.end({ kind: 'lost' })
    })
  }

  /** An entry past its time is better than a failure (RFC 5861 section 4). */
  #sendExpired({ request }: PageWaiter): boolean {
    const found = lookUp(this.#parts, this.fill.key)
    if (found === undefined || request.context.isAnswered) return false
    sendStored(this.#parts, request.context, found.entry, { outcome: 'stale', detail: 'error' })
    return true
  }

  #fail(waiter: PageWaiter, error: Error | undefined): void {
    const { request } = waiter
    // A request of a site that has changed is matched again.
    const mayBeExpired = error === undefined || !isStaleManifest(error)
    if (mayBeExpired && this.#sendExpired(waiter)) return
    if (error !== undefined) request.fail(error)
    else if (this.#errorPage !== undefined) {
      const { head, body } = this.#errorPage
      request.context.cacheStatus = isrStatus({ outcome: 'uri-miss', isCollapsed: true })
      new ClientSink(request.context, { failed: (failure) => request.fail(failure) }).whole(head, body, undefined)
    }
  }

  /**
   * A request has waited as long as a render may take. A stream may be without an end. Where another process has the lease, one
   * more render may help; all waiting requests would be a stampede on a page that is failing already.
   */
  #late(waiter: PageWaiter): void {
    const render = this.#render
    if (render?.isStreaming === true) this.#exits.alone(waiter, undefined)
    else if (render === undefined && !this.#hasLateRender) {
      this.#hasLateRender = true
      this.#exits.alone(waiter, undefined)
    } else if (!this.#sendExpired(waiter)) {
      waiter.request.fail(new WorkerError('WORKER_WAIT_TIMEOUT', 'timed out waiting for another request to render this page'))
    }
  }
}
