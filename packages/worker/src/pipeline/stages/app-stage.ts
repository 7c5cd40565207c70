import type { Route } from '@svc/site'
import { WorkerError } from '../../errors.ts'
import type { SiteApp, SiteRuntime } from '../../generation/site-runtime.ts'
import type { Renderer } from '../../render-client/renderer.ts'
import { sendError, sendFailure } from '../error-response.ts'
import type { RequestContext } from '../request-context.ts'
import { requestFacts } from '../site-request.ts'
import type { Stage, StageResult } from '../stage.ts'
import { AnswerSink } from './answer-sink.ts'
import { runMiddleware } from './middleware-step.ts'
import { isStale, type RenderPlan, renderRequestOf } from './render-plan.ts'
import type { SiteVisit } from './site-visit.ts'

/** How often a match is repeated because the site changed between match and render. */
const MAX_REMATCHES = 3
const PAGE_METHODS = new Set(['GET', 'HEAD'])

/** Answers from the application of a site: middleware, public files, routes, not-found. */
export class AppStage implements Stage {
  readonly name = 'app'
  readonly #renderer: Renderer

  constructor(renderer: Renderer) {
    this.#renderer = renderer
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const site = context.site
    if (site === undefined) return 'next'
    const app = site.knownApp
    return app === undefined ? this.#visitAnew(context, site, 0) : this.#visit(context, site, app, 0)
  }

  async #visitAnew(context: RequestContext, site: SiteRuntime, rematches: number): Promise<StageResult> {
    return this.#visit(context, site, await site.app(), rematches)
  }

  #visit(context: RequestContext, site: SiteRuntime, app: SiteApp, rematches: number): StageResult | Promise<StageResult> {
    const { path } = context.request
    const visit: SiteVisit = { context, site, app, target: { path, url: undefined, headers: undefined } }
    if (app.middleware?.(path, requestFacts(context)) !== true) return this.#serve(visit)
    return runMiddleware(visit, this.#renderer).then((next) => {
      if (next === 'answered') return next
      if (next !== 'stale') return this.#serve({ ...visit, target: next })
      if (rematches === MAX_REMATCHES) throw new WorkerError('WORKER_SITE_UNSETTLED', `${site.config.id} keeps changing`)
      site.forget()
      return this.#visitAnew(context, site, rematches + 1)
    })
  }

  #serve(visit: SiteVisit): StageResult {
    const { context, app, target } = visit
    // Set before: a small file is sent and counted by the time the call returns.
    context.pathGroup = 'static'
    if (app.files.serve(context.asExchange(), target.path) === 'served') return 'answered'
    context.pathGroup = 'other'
    this.#match(visit, 0)
    return 'answered'
  }

  #match(visit: SiteVisit, rematches: number): void {
    const { context, app, target } = visit
    const match = app.routes.match(target.path)
    if (match?.redirect !== undefined) redirectTo(context, match.redirect)
    else if (match !== undefined) {
      const { route, params } = match
      context.pathGroup = route.pattern
      if (!answersByItself(visit, route)) this.#render(visit, { kind: route.kind, route: route.id, params }, rematches)
    } else if (app.manifest.notFound !== null) this.#render(visit, { kind: 'not-found', route: '', params: {} }, rematches)
    else sendError(context, { status: 404, code: 'not_found' })
  }

  #render(visit: SiteVisit, plan: RenderPlan, rematches: number): void {
    const { context } = visit
    const body = context.exchange.body.isPresent ? context.exchange.body : undefined
    // A body is gone once it was sent: such a request is the client's to repeat.
    const mayRematch = body === undefined && rematches < MAX_REMATCHES
    const sink = new AnswerSink(context, (error) => {
      if (isStale(error) && mayRematch) this.#rematch(visit, rematches + 1)
      else this.#failed(visit, error)
    })
    sink.attach(this.#renderer.render(renderRequestOf(visit, plan), body, sink))
  }

  /** A manifest that is out of date must not meet the client again when it repeats its request. */
  #failed({ context, site }: SiteVisit, error: Error): void {
    if (isStale(error)) site.forget()
    sendFailure(context, error)
  }

  /** The site's files changed between the match and the render: match again with its new manifest. */
  #rematch(visit: SiteVisit, rematches: number): void {
    visit.site.forget()
    visit.site
      .app()
      .then((app) => this.#match({ ...visit, app }, rematches))
      .catch((error) => sendFailure(visit.context, error))
  }
}

/** Answers what needs no render: a route that two files claim, a method that pages do not have, a metadata file as it is. */
function answersByItself({ context, site, app }: SiteVisit, route: Route): boolean {
  if (route.problem !== undefined) {
    const detail = site.config.mode === 'development' ? { detail: route.problem } : {}
    sendError(context, { status: 500, code: 'route_conflict', ...detail })
  } else if (route.kind !== 'handler' && !PAGE_METHODS.has(context.request.method)) {
    sendError(context, { status: 405, code: 'method_not_allowed' }, [['allow', 'GET, HEAD']])
  } else if (route.metadata !== null && route.metadata.contentType !== null) {
    app.files.serveFile(context.asExchange(), route.metadata.file, route.metadata.contentType)
  } else return false
  return true
}

function redirectTo(context: RequestContext, path: string): void {
  const { query } = context.request
  context.respond({ status: 308, headers: [['location', query === '' ? path : `${path}?${query}`]] })
}
