import { type HeaderList, withoutControls } from '@svc/http'
import { EARLY_FAULTS } from '@svc/vhosts'
import { termsRequestOf } from '../compression/index.ts'
import { sendStatus } from '../request/error-response.ts'
import { plainPage } from '../request/plain-page.ts'
import { afterRoute } from '../request/plugin-passage.ts'
import type { StageResult } from '../request/request-context.ts'
import { offerPathToL0 } from '../request/site-request.ts'
import type { CheckedRequest, Refused, SubAnswer } from './access-checks.ts'
import { checkAccess } from './access-phase.ts'
import { answerByConditions } from './bare-conditions.ts'
import type { CompiledLocation } from './compiled-server.ts'
import { sendEmptyGif } from './empty-gif.ts'
import { errorPageOf, hasErrorPage } from './error-pages.ts'
import { redirectTarget } from './listen-port.ts'
import type { LocationHandler } from './location-handler.ts'
import type { LimitedRequest } from './location-limits.ts'
import { LocationLogs } from './location-logs.ts'
import { locationText } from './location-text.ts'
import { type Outcome, PhaseRun, type RewriteEnd, type VhostTools } from './phase-run.ts'
import { type RunState, withMissing } from './run-state.ts'
import { serveFiles } from './static-content.ts'
import { SubrequestExchange } from './subrequest-context.ts'
import { SubrequestState } from './subrequest-state.ts'
import { tryFiles } from './try-files.ts'
import { settle, VhostExchange } from './vhost-exchange.ts'
import type { Found, WebFiles } from './web-files.ts'

/** Longer bodies are empty in logs, as where nginx has them in a file. */
const MAX_LOGGED_BODY_BYTES = 16 * 1024
const earlyFaults: ReadonlySet<number> = new Set(Object.values(EARLY_FAULTS))
/** Statuses of `return` that close the connection instead of a response. */
const CLOSED: ReadonlySet<number> = new Set([408, 444, 499])

/** Answers a request from the application of a site. */
type AnswerFromApp = (state: RunState, site: string) => Outcome

/** One request on its way through the phases of nginx: rewriting, location, access, `try_files`, content. */
export class LocationRun extends PhaseRun implements CheckedRequest {
  readonly #answerFromApp: AnswerFromApp
  readonly #found: (readonly [path: string, found: Found])[] = []

  constructor(state: RunState, tools: VhostTools, answerFromApp: AnswerFromApp) {
    super(state, tools)
    this.#answerFromApp = answerFromApp
    const { context } = state
    state.findClient(state.location)
    context.shapeHead = (head) => state.shape(head)
    if (context.generation.spec.web.recordsBodies) context.body.record(MAX_LOGGED_BODY_BYTES)
    context.showFailure = (status) => this.#showFailure(status)
  }

  /** Answers with a fault that was found before any location. */
  refuse(fault: number): Outcome {
    this.state.context.withdrawFromL0()
    this.comeTo(this.state.compiled.fallback)
    return this.fail(fault)
  }

  override noteFound(path: string, found: Found): void {
    this.#found.push([path, found])
  }

  override offer(isCurrent: () => boolean = always): boolean {
    const { context, location } = this.state
    return offerPathToL0(context, context.exchange.request.path, {
      expiresAt: Date.now() + location.fieldsLastMs,
      isCurrent: stillFound(this.tools.files, this.#found, isCurrent),
    })
  }

  fail(status: number, headers: HeaderList = []): Outcome {
    const { state } = this
    const shown = earlyFaults.has(status) ? 400 : status
    state.status = shown
    // If showing an error failed too, the fields of the first error are sent with this one.
    state.carried = withMissing(headers, state.carried)
    // The type that X-Accel-Redirect set for a file does not apply to its error.
    const { context } = state
    if (context.responseHeaders.length > 0)
      context.responseHeaders = context.responseHeaders.filter(([name]) => name.toLowerCase() !== 'content-type')
    const page = errorPageOf(state, this.tools.templates, status)
    if (page?.kind === 'inside') return this.goInside(page.target)
    if (page?.kind === 'redirect') return this.#sendRedirect(page.status, page.url)
    sendStatus(context, shown, headers)
    return 'answered'
  }

  /** Shows a failure of an application or a handler as a failure of an upstream. */
  #showFailure(status: number): boolean {
    const { state } = this
    if (!hasErrorPage(state, status)) return false
    state.context.withdrawFromL0()
    settle(state.context, () => this.fail(status))
    return true
  }

  redirect(status: number, url: string): Outcome {
    const { state } = this
    state.status = status
    const page = errorPageOf(state, this.tools.templates, status)
    if (page === undefined) return this.#sendRedirect(status, url)
    if (page.kind === 'redirect') return this.#sendRedirect(page.status, page.url)
    state.carried = [['location', this.#absolute(url)]]
    return this.goInside(page.target)
  }

  protected override arrived(location: CompiledLocation): Outcome | undefined {
    const { state } = this
    this.comeTo(location)
    if (location.settings.isInternal && !state.isInternal) return this.fail(404)
    if (this.#limitBody(location)) return undefined
    state.isBodyRefused = true
    state.context.body.drop()
    return this.fail(413)
  }

  protected override comeTo(location: CompiledLocation): void {
    const { context } = this.state
    super.comeTo(location)
    const { compression } = location
    if (location.settings.guard.rate !== undefined) this.state.limitRate()
    if (location.settings.stallLimits !== undefined) context.exchange.limitStalls?.(location.settings.stallLimits)
    const { subFilter } = location
    context.bodyFilter = subFilter && { open: (head) => subFilter.open(this.state, head) }
    context.hasPlainErrors = location.settings.content.kind !== 'app'
    context.hidesCacheStatus = !location.settings.hasCacheStatus
    context.mayCompress = location.settings.compression !== 'off'
    context.compression = compression
    if (compression !== undefined && !compression.isLikeOthers(termsRequestOf(context.request))) context.withdrawFromL0()
    const { logs } = location
    context.accessLogs = logs.plain
    context.formattedLogs = logs.formatted && new LocationLogs(logs, this.state)
    if (!logs.areForHits) context.withdrawFromL0()
  }

  #limitBody({ settings }: CompiledLocation): boolean {
    const { context, isBodyRefused } = this.state
    if (isBodyRefused) return true
    const configured = settings.maxBodyBytes ?? context.generation.config.server.max_body_bytes
    return context.body.limit(configured === 0 ? Number.POSITIVE_INFINITY : configured)
  }

  protected override rewriteEnded(outcome: RewriteEnd): Outcome {
    switch (outcome.kind) {
      case 'redirect':
        return this.redirect(outcome.status, outcome.url)
      case 'status':
        return CLOSED.has(outcome.status) ? this.#close(outcome.status) : this.fail(outcome.status)
      case 'text':
        return this.#sendText(outcome.status, outcome.text)
    }
  }

  protected override visit(): Outcome {
    const { state, tools } = this
    state.findClient(state.location)
    const { limits } = state.location
    if (limits === undefined) return this.#access()
    state.context.withdrawFromL0()
    const result = limits(this.#limited(), tools.limits)
    return result instanceof Promise ? result.then((status) => this.#underLimits(status)) : this.#underLimits(result)
  }

  #limited(): LimitedRequest {
    const { state } = this
    const { main } = state
    main.limitWords ??= { requests: '', connections: '' }
    return {
      input: state,
      words: main.limitWords,
      hold(counted) {
        main.context.counted = counted
        if (main.context.hasEnded) counted.release()
      },
      onClosed: (listener) => state.context.onClosed(listener),
    }
  }

  #underLimits(status: number): Outcome {
    if (status === 0) return this.#access()
    return CLOSED.has(status) ? this.#close(status) : this.fail(status)
  }

  #access(): Outcome {
    const { context, location, isSubrequest } = this.state
    const { checks, settings } = location
    if (checks.length === 0 || isSubrequest) return this.#admitted()
    context.withdrawFromL0()
    const result = checkAccess(this, checks, settings.satisfiesAny)
    return result instanceof Promise ? result.then((settled) => this.#checked(settled)) : this.#checked(result)
  }

  #checked(result: 'passed' | Refused): Outcome {
    if (result === 'passed') return this.#admitted()
    const refuse = () => (CLOSED.has(result.status) ? this.#close(result.status) : this.fail(result.status, result.headers))
    const { authDelayMs } = this.state.location.settings.guard
    if (result.status !== 401 || authDelayMs === 0) return refuse()
    return new Promise<void>((resolve) => void this.tools.limits.clock.after(authDelayMs, resolve)).then(refuse)
  }

  async request(uri: string): Promise<SubAnswer> {
    const { state, tools } = this
    const exchange = new SubrequestExchange(state.context.exchange)
    const context = tools.subrequests.contextOf(state.context, exchange)
    const own = new SubrequestState(state, context)
    const run = new LocationRun(own, tools, this.#answerFromApp)
    state.context.onClosed(() => exchange.abort())
    settle(context, () => run.goInside({ uri, args: '' }))
    const head = await exchange.head
    if (head === undefined) return undefined
    own.sentHeaders = head.headers
    return { status: head.status, input: own }
  }

  /** The application tells plugins itself where a request leads. */
  #admitted(): Outcome {
    const { context, location, server } = this.state
    if (context.plugins === undefined || location.settings.content.kind === 'app') return this.#answer()
    const route = { site: server.site, kind: 'location', pattern: patternOf(location) } as const
    return afterRoute(context.plugins, route, () => this.#answer())
  }

  #answer(): Outcome {
    const { state } = this
    const { tryFiles: candidates, content } = state.location.settings
    const ended = candidates === undefined ? undefined : tryFiles(this, candidates)
    if (ended !== undefined) return ended
    const { handler } = state.location
    if (handler !== undefined) return this.#handle(handler)
    if (content.kind === 'empty_gif') return sendEmptyGif(this)
    if (content.kind === 'stub_status') return this.tools.stubStatus.send(this)
    return content.kind === 'app' ? this.#answerFromApp(state, content.site) : serveFiles(this)
  }

  #handle(handler: LocationHandler): Outcome {
    const { state } = this
    state.context.pathGroup = 'proxy'
    const done = handler.handle(new VhostExchange(state, this.tools.templates, this))
    return done instanceof Promise ? done.then((): StageResult => 'answered') : 'answered'
  }

  #sendText(status: number, text: string): Outcome {
    const { context, uri, location } = this.state
    const ended = status === 200 ? answerByConditions(this) : undefined
    if (ended !== undefined) return ended
    this.offer()
    const type = status === 204 ? '' : location.types.ofText(uri)
    const headers: HeaderList = type === '' ? [] : [['content-type', type]]
    context.respondCompressed({ status, headers }, Buffer.from(text, 'latin1'))
    return 'answered'
  }

  #sendRedirect(status: number, url: string): Outcome {
    const { state } = this
    state.status = status
    this.offer()
    const { head, body } = plainPage(status, [['location', this.#absolute(url)]])
    state.context.respondCompressed(head, body)
    return 'answered'
  }

  #absolute(url: string): string {
    const { context, server, location } = this.state
    return withoutControls(url.startsWith('/') ? redirectTarget(context, url, location.settings.redirects, server.name) : url)
  }

  #close(status: number): Outcome {
    this.state.context.hangUp(status)
    return 'answered'
  }
}

function patternOf({ match }: CompiledLocation): string {
  return match === undefined ? '' : locationText(match)
}

const always = () => true

/** Data cached with a response must not keep its request alive. */
function stillFound(files: WebFiles, found: readonly (readonly [string, Found])[], isCurrent: () => boolean): () => boolean {
  return found.length === 0 ? isCurrent : () => isCurrent() && found.every(([path, before]) => files.look(path) === before)
}
