import { type HeaderList, urlOf, withoutControls } from '@svc/http'
import { sendStatus } from '../request/error-response.ts'
import type { StageResult } from '../request/request-context.ts'
import { offerPathToL0 } from '../request/site-request.ts'
import type { CompiledLocation } from './compiled-server.ts'
import { errorPageOf, hasErrorPage } from './error-pages.ts'
import { absoluteLocation } from './listen-port.ts'
import type { LocationHandler } from './location-handler.ts'
import type { AuthVerdict } from './passwords/file-auth.ts'
import { GUESS_RECOVERY_SECONDS } from './passwords/password-check.ts'
import type { InnerTarget, Outcome, PhaseRun, VhostTools } from './phase-run.ts'
import type { RewriteOutcome } from './rewriting.ts'
import { type RunState, withMissing } from './run-state.ts'
import { serveFiles, typeOfText } from './static-content.ts'
import { readForAnswer } from './templates.ts'
import { tryFiles } from './try-files.ts'
import { settle, VhostExchange } from './vhost-exchange.ts'
import type { Found, WebFiles } from './web-files.ts'

/** Closes the connection instead of a response. */
const CLOSE = 444

const authStatus = { refused: 401, 'no-file': 403, broken: 500, busy: 503, limited: 429 } as const

/** Answers a request from the application of a site. */
type AnswerFromApp = (state: RunState, site: string) => Outcome

/** One request on its way through the phases of nginx: rewriting, location, access, `try_files`, content. */
export class LocationRun implements PhaseRun {
  readonly state: RunState
  readonly tools: VhostTools
  readonly #answerFromApp: AnswerFromApp
  readonly #found: (readonly [path: string, found: Found])[] = []

  constructor(state: RunState, tools: VhostTools, answerFromApp: AnswerFromApp) {
    this.state = state
    this.tools = tools
    this.#answerFromApp = answerFromApp
    const { context } = state
    context.shapeHead = (head) => state.shape(head)
    context.showFailure = (status) => this.#showFailure(status)
  }

  /** From the beginning: the server's rewriting, then its locations. */
  start(): Outcome {
    const { state } = this
    state.isPrefixValid = true
    this.#comeTo(state.location)
    const outcome = state.compiled.rewrite(state)
    return outcome.kind === 'on' ? this.#findLocation() : this.#rewriteEnds(outcome)
  }

  look(path: string): Found {
    const found = this.tools.files.look(path)
    this.noteFound(path, found)
    return found
  }

  noteFound(path: string, found: Found): void {
    this.#found.push([path, found])
  }

  offer(isCurrent: () => boolean = always): boolean {
    const { context, location } = this.state
    return offerPathToL0(context, context.exchange.request.path, {
      expiresAt: Date.now() + location.fieldsLastMs,
      isCurrent: stillFound(this.tools.files, this.#found, isCurrent),
    })
  }

  fail(status: number, headers: HeaderList = []): Outcome {
    const { state } = this
    state.status = status
    // If showing an error failed too, the fields of the first error are sent with this one.
    state.carried = withMissing(headers, state.carried)
    // The type that X-Accel-Redirect set for a file does not apply to its error.
    const { context } = state
    if (context.responseHeaders.length > 0) context.responseHeaders = context.responseHeaders.filter(isNoType)
    const page = errorPageOf(state, this.tools.templates, status)
    if (page?.kind === 'inside') return this.goInside(page.target)
    if (page?.kind === 'redirect') return this.#sendRedirect(page.status, page.url)
    sendStatus(context, status, headers)
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

  goInside(target: InnerTarget): Outcome {
    const { state } = this
    if (!state.mayChange()) return this.fail(500)
    state.isInternal = true
    if ('named' in target) {
      const location = state.compiled.locations.named(target.named)
      return location === undefined ? this.fail(500) : this.#enter(location)
    }
    state.uri = target.uri
    state.args = target.args
    state.isAsSent = false
    state.addsUriToAlias = false
    state.location = state.compiled.fallback
    return this.start()
  }

  #findLocation(): Outcome {
    const { state } = this
    state.mustFindLocation = false
    const { locations, fallback } = state.compiled
    const choice = locations.find(state.uri, state)
    const location = choice.kind === 'none' ? fallback : choice.value
    this.#comeTo(location)
    if (location.settings.isInternal && !state.isInternal) return this.fail(404)
    if (!this.#limitBody(location)) {
      state.isBodyRefused = true
      state.context.body.drop()
      return this.fail(413)
    }
    return choice.kind === 'slash' ? this.redirect(301, urlOf(choice.path, state.args)) : this.#enter(location)
  }

  #comeTo(location: CompiledLocation): void {
    const { context } = this.state
    this.state.location = location
    context.mayCompress = location.settings.gzip !== false
    context.isAccessLogged = location.settings.hasAccessLog
  }

  #limitBody({ settings }: CompiledLocation): boolean {
    const { context, isBodyRefused } = this.state
    if (isBodyRefused) return true
    const configured = settings.maxBodyBytes ?? context.generation.config.server.max_body_bytes
    return context.body.limit(configured === 0 ? Number.POSITIVE_INFINITY : configured)
  }

  #enter(location: CompiledLocation): Outcome {
    const { state } = this
    this.#comeTo(location)
    state.mustFindLocation = false
    const outcome = location.rewrite(state)
    if (outcome.kind !== 'on') return this.#rewriteEnds(outcome)
    if (!state.mustFindLocation) return this.#checkAccess()
    return state.mayChange() ? this.#findLocation() : this.fail(500)
  }

  #rewriteEnds(outcome: Exclude<RewriteOutcome, { kind: 'on' }>): Outcome {
    switch (outcome.kind) {
      case 'redirect':
        return this.redirect(outcome.status, outcome.url)
      case 'status':
        return outcome.status === CLOSE ? this.#close() : this.fail(outcome.status)
      case 'text':
        return this.#sendText(outcome.status, outcome.text)
    }
  }

  #checkAccess(): Outcome {
    const { state } = this
    const { context } = state
    const { access, settings } = state.location
    if (access !== undefined) {
      context.withdrawFromL0()
      if (!access(context.client.address)) return this.fail(403)
    }
    return settings.authBasic === undefined ? this.#answer() : this.#checkUser(settings.authBasic)
  }

  #checkUser({ realm, userFile }: NonNullable<CompiledLocation['settings']['authBasic']>): Outcome {
    const { state, tools } = this
    state.context.withdrawFromL0()
    const text = withoutControls(readForAnswer(state, tools.templates.of(realm)))
    const verdict = tools.basicAuth.check(state.context, readForAnswer(state, tools.templates.of(userFile)), state.server)
    const go = (known: AuthVerdict): Outcome => {
      if (known === 'passed') return this.#answer()
      return this.fail(
        authStatus[known],
        known === 'refused' ? [['www-authenticate', `Basic realm="${text}"`]] : waitFields(known),
      )
    }
    return verdict instanceof Promise ? verdict.then(go) : go(verdict)
  }

  #answer(): Outcome {
    const { state } = this
    const { tryFiles: candidates, content } = state.location.settings
    const ended = candidates === undefined ? undefined : tryFiles(this, candidates)
    if (ended !== undefined) return ended
    const { handler } = state.location
    if (handler !== undefined) return this.#handle(handler)
    return content.kind === 'app' ? this.#answerFromApp(state, content.site) : serveFiles(this)
  }

  #handle(handler: LocationHandler): Outcome {
    const { state } = this
    state.context.pathGroup = 'proxy'
    const done = handler.handle(new VhostExchange(state, this.tools.templates, this))
    return done instanceof Promise ? done.then((): StageResult => 'answered') : 'answered'
  }

  #sendText(status: number, text: string): Outcome {
    const { context, uri } = this.state
    this.offer()
    const headers: HeaderList = status === 204 ? [] : [['content-type', typeOfText(uri)]]
    context.respondCompressed({ status, headers }, Buffer.from(text, 'latin1'))
    return 'answered'
  }

  #sendRedirect(status: number, url: string): Outcome {
    const { state } = this
    state.status = status
    this.offer()
    state.context.respond({ status, headers: [['location', this.#absolute(url)]] })
    return 'answered'
  }

  #absolute(url: string): string {
    const { context, server } = this.state
    return withoutControls(url.startsWith('/') ? absoluteLocation(context, url, server.name) : url)
  }

  #close(): Outcome {
    const { context } = this.state
    context.withdrawFromL0()
    context.stream({ status: CLOSE, headers: [] }).abort()
    return 'answered'
  }
}

const always = () => true

function isNoType([name]: readonly [name: string, value: string]): boolean {
  return name.toLowerCase() !== 'content-type'
}

function waitFields(verdict: AuthVerdict): HeaderList {
  return verdict === 'limited' ? [['retry-after', String(GUESS_RECOVERY_SECONDS)]] : []
}

/** Data cached with a response must not keep its request alive. */
function stillFound(files: WebFiles, found: readonly (readonly [string, Found])[], isCurrent: () => boolean): () => boolean {
  return found.length === 0 ? isCurrent : () => isCurrent() && found.every(([path, before]) => files.look(path) === before)
}
