import type { FillEnd, FillPolicy, Fills, LateWaiter, PassMemory, PurgeLedger, RepeatedKeys, SharedFill } from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import type { CacheMetrics } from '@svc/telemetry'
import { WorkerError } from '../errors/errors.ts'
import { isStaleManifest, type Renderer } from '../render-client/renderer.ts'
import { ClientSink } from '../request/client-sink.ts'
import { cameBack } from '../request/request-loop.ts'
import { keyOf, passKeyOf } from './page-address.ts'
import type { PageEntries, PageEntry, PageVerdict, RenderedResponse } from './page-entries.ts'
import type { BackgroundRender, PageRequest } from './page-request.ts'
import { type RenderEnd, type RenderLeader, SharedRender } from './shared-render.ts'
import { isrStatus, type SharedBodies, sendStored } from './stored-sender.ts'

/** The services that the cache and its fills share. */
export interface IsrTools {
  readonly entries: PageEntries
  readonly ledger: PurgeLedger
  readonly renderer: Renderer
  readonly metrics: CacheMetrics
  readonly clock: Clock
  readonly passes: PassMemory
  readonly bodies: SharedBodies
  /** Tells the second request for a key from the first. */
  readonly admission: RepeatedKeys
  readonly onProblem: (error: Error) => void
}

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
  readonly #tools: IsrTools
  readonly #exits: PageFillExits
  readonly #cause: PageFillCause
  /** True if the key was requested before, or is again while the fill lasts. */
  #isRepeated: boolean
  #leader: PageWaiter | undefined
  #render: SharedRender | undefined
  /** Of the whole response, once there is one. */
  #judged: Judged | undefined
  /** The entry for joining requests while it is being committed: until then no look-up finds it in the store. */
  #answer: PageEntry | undefined
  /** An error page that holds nothing of the request that it was rendered for. */
  #errorPage: RenderedResponse | undefined
  /** True if a request that timed out waiting for another process renders for itself. */
  #hasLateRender = false

  constructor(key: string, cause: PageFillCause, tools: IsrTools, fills: PageFills, exits: PageFillExits) {
    this.#tools = tools
    this.#exits = exits
    this.#cause = cause
    this.#isRepeated = cause.kind === 'refresh' || cause.isRepeated
    const mayWait = cause.kind === 'refresh' || !cameBack(cause.opener.request.context)
    const lease = mayWait ? { key, waitMs: this.#subject.settings.waitMs } : undefined
    this.fill = fills.open(key, this, { lease, isRefresh: cause.kind === 'refresh' })
  }

  /** True if it got as far as a render. */
  get hasRendered(): boolean {
    return this.#render !== undefined
  }

  /** Takes another request for the key. */
  join(waiter: PageWaiter): void {
    this.#isRepeated = true
    if (waiter.rounds === 0) this.#tools.metrics.coalesced.value++
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
    const { entries } = this.#tools
    entries.refresh()
    const { address } = first?.request ?? this.#subject
    const isSameKey = entries.keyOf(address) === this.fill.key
    const freshness = isSameKey ? entries.find(this.fill.key)?.freshness : undefined
    if (this.#cause.kind === 'refresh') {
      if (!this.#cause.background.isInService()) return 'lost'
      return freshness === 'fresh' ? 'stored' : 'fill'
    }
    if (!isSameKey || freshness === 'fresh' || freshness === 'stale') return 'stored'
    return first?.request.isOutdated() === true ? 'lost' : 'fill'
  }

  produce(leader: PageWaiter | undefined): void {
    const { clock, renderer } = this.#tools
    const { settings } = leader?.request ?? this.#subject
    this.#leader = leader
    leader?.request.context.enter('render')
    const render = new SharedRender({
      leader: leader && this.#leaderOf(leader),
      maxBodyBytes: settings.maxBodyBytes,
      patienceMs: settings.waitMs,
      clock,
      onEnd: (end) => this.#rendered(end),
    })
    this.#render = render
    if (leader === undefined) render.clientLeft()
    const background = this.#cause.kind === 'refresh' ? this.#cause.background : undefined
    const request = leader?.request.renderRequest('shared') ?? background?.request
    if (request !== undefined) renderer.render(request, undefined, render)
  }

  /**
   * Sends the page to a request for the same key, unless it came after a purge that covers the page. One that came before the
   * purge gets it like the client of the render: else purges in a row would leave all of them without one.
   */
  give({ request, seq }: PageWaiter): 'given' | 'wait' {
    const answer = this.#answer
    if (answer === undefined || keyOf(request.address, answer.variance) !== answer.key) return 'wait'
    if (!this.#tools.ledger.mayGive(this.fill, answer.entry, seq)) return 'wait'
    const isStored = this.#tools.entries.isCurrent(answer, this.fill)
    sendStored(this.#tools, request.context, answer.entry, { outcome: 'uri-miss', isStored, isCollapsed: true })
    return 'given'
  }

  settled(end: FillEnd): void {
    const { entries, metrics, passes } = this.#tools
    if (end.kind === 'pass') passes.add(passKeyOf(this.fill.key, this.#leader?.request.address), end.detail)
    if (end.kind !== 'elsewhere') return
    entries.refresh()
    if (this.#cause.kind === 'refresh') return
    const { opener } = this.#cause
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

  /** The inputs of the render, if no request leads the fill. */
  get #subject(): Pick<PageRequest, 'address' | 'settings'> {
    return this.#cause.kind === 'refresh' ? this.#cause.background : this.#cause.opener.request
  }

  #leaderOf(leader: PageWaiter): RenderLeader {
    const { context, exits } = leader.request
    const outcome = this.#tools.entries.find(this.fill.key) === undefined ? 'uri-miss' : 'stale'
    context.cacheStatus = isrStatus({ outcome })
    return {
      sink: new ClientSink(context, { failed: (error) => exits.fail(error) }),
      takesWhole: (response) => this.#answerLeader(leader, response, outcome),
      takesFailure: (error) => !isStaleManifest(error) && this.#sendExpired(leader),
    }
  }

  /** Sends a complete response to the client that it was rendered for, according to its verdict. */
  #answerLeader(leader: PageWaiter, response: RenderedResponse, outcome: 'uri-miss' | 'stale'): boolean {
    const { context } = leader.request
    const { verdict, isAdmitted } = this.#judge(response)
    switch (verdict.verdict) {
      case 'store': {
        const isStored = isAdmitted && this.#tools.entries.isCurrent(verdict, this.fill)
        sendStored(this.#tools, context, verdict.entry, { outcome, isStored })
        return true
      }
      case 'pass':
        context.cacheStatus = isrStatus({ outcome: 'bypass', detail: verdict.detail })
        return false
      case 'failed':
        return this.#sendExpired(leader)
    }
  }

  #judge(response: RenderedResponse): Judged {
    const { entries } = this.#tools
    const { address, settings } = this.#leader?.request ?? this.#subject
    if (this.#judged === undefined) {
      const verdict = entries.judge(response, address, settings, this.fill)
      const isAdmitted = verdict.verdict === 'store' && entries.isAdmitted(verdict, this.fill.key, this.#isRepeated)
      this.#judged = { verdict, isAdmitted }
    }
    return this.#judged
  }

  #rendered(end: RenderEnd): void {
    const cause = this.#cause
    const verdict = end.kind === 'whole' ? this.#judge(end.response).verdict : undefined
    if (verdict?.verdict === 'store') {
      this.#endWith(this.#store(verdict))
      return
    }
    if (end.kind === 'whole' && verdict?.verdict === 'failed' && verdict.isCommon) this.#errorPage = end.response
    const reached = endOfUnstored(end, verdict, cause.kind)
    if (this.#leader !== undefined && verdict?.verdict === 'pass' && verdict.detail === 'host') {
      // It says nothing about requests that wait under a name of the site.
      this.#tools.passes.add(passKeyOf(this.fill.key, this.#leader.request.address), verdict.detail)
      this.fill.end({ kind: 'lost' })
    } else if (cause.kind === 'refresh' && reached.kind === 'pass') {
      // The page may not be stored any more, so its old entry must not go on being served either.
      this.#endWith(this.#tools.entries.drop(this.fill.key, this.#subject.address).then(() => reached))
    } else {
      if (cause.kind === 'refresh' && end.kind === 'failed' && reached.kind === 'lost') cause.background.onOutdated()
      this.fill.end(reached)
    }
  }

  /** Serves the waiting requests, and stores the entry. */
  async #store(entry: PageEntry): Promise<FillEnd> {
    const { entries, passes } = this.#tools
    passes.delete(this.fill.key)
    this.#answer = entry
    this.fill.offer()
    const isAdmitted = this.#judged?.isAdmitted === true
    return { kind: isAdmitted ? await entries.store(entry, this.fill, this.#isRepeated) : 'lost' }
  }

  #endWith(end: Promise<FillEnd>): void {
    end.then(
      (reached) => this.fill.end(reached),
      (error) => {
        this.#tools.onProblem(asError(error))
        this.fill.end({ kind: 'lost' })
      },
    )
  }

  /** An entry past its time is better than a failure (RFC 5861 section 4). */
  #sendExpired({ request }: PageWaiter): boolean {
    const found = this.#tools.entries.find(this.fill.key)
    if (found === undefined || request.context.isAnswered) return false
    sendStored(this.#tools, request.context, found.entry, { outcome: 'stale', detail: 'error' })
    return true
  }

  #fail(waiter: PageWaiter, error: Error | undefined): void {
    const { context, exits } = waiter.request
    // A request of a site that has changed is matched again.
    const mayBeExpired = error === undefined || !isStaleManifest(error)
    if (mayBeExpired && this.#sendExpired(waiter)) return
    if (error !== undefined) exits.fail(error)
    else if (this.#errorPage !== undefined) {
      const { head, body } = this.#errorPage
      context.cacheStatus = isrStatus({ outcome: 'uri-miss', isCollapsed: true })
      new ClientSink(context, { failed: (failure) => exits.fail(failure) }).whole(head, body, undefined)
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
      waiter.request.exits.fail(
        new WorkerError('WORKER_WAIT_TIMEOUT', 'timed out waiting for another request to render this page'),
      )
    }
  }
}

/** How a fill ends whose render made nothing to be stored. Pure. */
function endOfUnstored(
  end: RenderEnd,
  verdict: Exclude<PageVerdict, PageEntry> | undefined,
  cause: PageFillCause['kind'],
): FillEnd {
  switch (end.kind) {
    case 'whole':
      if (verdict?.verdict === 'pass') return { kind: 'pass', detail: verdict.detail }
      if (verdict?.isCommon === true || cause === 'refresh') return { kind: 'failed', error: undefined }
      return { kind: 'unshared', detail: 'status' }
    case 'unstorable':
      if (!end.isFailure) return { kind: 'pass', detail: end.detail }
      return cause === 'refresh' ? { kind: 'failed', error: undefined } : { kind: 'unshared', detail: end.detail }
    case 'failed':
      return cause === 'refresh' && isStaleManifest(end.error) ? { kind: 'lost' } : end
    case 'unsent':
      // Other requests wait for the page: one of them renders it for itself.
      return { kind: 'lost' }
  }
}
