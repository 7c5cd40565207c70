import type { Config } from '@svc/config'
import type { Route } from '@svc/site'
import { WorkerError } from '../../errors/errors.ts'
import type { SiteApp, SiteRuntime } from '../../generation/site-runtime.ts'
import type { IsrCache } from '../../isr/isr-cache.ts'
import { mayBeStored, PageRequest } from '../../isr/page-request.ts'
import { isrStatus } from '../../isr/stored-sender.ts'
import { isStaleManifest, type Renderer } from '../../render-client/renderer.ts'
import { ClientSink } from '../../request/client-sink.ts'
import { sendError, sendFailure } from '../../request/error-response.ts'
import { afterRoute } from '../../request/plugin-passage.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { conditionFacts, offerPathToL0, type RenderPlan, renderRequestOf, type SiteRequest } from '../../request/site-request.ts'
import type { WholeFileL0 } from '../../static/index.ts'
import { recallMiddleware, runMiddleware } from './middleware-step.ts'

/** The cache as far as a configuration wants it; undefined: nothing is stored. */
export type IsrOf = (config: Config) => IsrCache | undefined

/** How often a match is repeated because the site changed between match and render. */
const MAX_REMATCHES = 3

/** Answers from the application of a site: middleware, public files, routes, not-found. */
export class AppStage implements Stage {
  readonly name = 'app'
  readonly #renderer: Renderer
  readonly #isr: IsrOf
  readonly #latest: LatestFiles

  /** @param settleSite resolves when every write to a site's files before the call has taken effect */
  constructor(renderer: Renderer, isr: IsrOf, settleSite: (site: string) => Promise<void>) {
    this.#renderer = renderer
    this.#isr = isr
    this.#latest = new LatestFiles(settleSite)
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const site = context.site
    if (site === undefined) return 'next'
    if (site.config.mode === 'development') return this.#serveLatest(context, site)
    return this.#serveKnown(context, site)
  }

  /** An edit shows with the next request: nothing is served before the files were checked. */
  async #serveLatest(context: RequestContext, site: SiteRuntime): Promise<StageResult> {
    context.withdrawFromL0()
    let hasLeft = false
    context.onClosed(() => {
      hasLeft = true
    })
    await this.#latest.settled(site.config.id)
    return hasLeft ? 'answered' : await this.#serveKnown(context, site)
  }

  #serveKnown(context: RequestContext, site: SiteRuntime): StageResult | Promise<StageResult> {
    const app = site.knownApp
    return app === undefined ? this.#serveDescribed(context, site, 0) : this.#serveApp(context, site, app, 0)
  }

  async #serveDescribed(context: RequestContext, site: SiteRuntime, rematches: number): Promise<StageResult> {
    const app = await appOf(context, site)
    return app === undefined ? 'answered' : this.#serveApp(context, site, app, rematches)
  }

  #serveApp(context: RequestContext, site: SiteRuntime, app: SiteApp, rematches: number): StageResult | Promise<StageResult> {
    const { path } = context.request
    const request: SiteRequest = { context, site, app, target: { path, url: undefined, headers: undefined } }
    if (app.middleware?.(path, conditionFacts(context)) !== true) return this.#serve(request)
    // It may treat GET in another way, and a response to HEAD enters L0 as that to GET.
    if (context.request.method === 'HEAD') context.withdrawFromL0()
    if (recallMiddleware(request)) return this.#serve(request)
    return runMiddleware(request, this.#renderer).then((next) => {
      if (next === 'answered') return next
      if (next !== 'stale') return this.#serve({ ...request, target: next })
      if (rematches === MAX_REMATCHES) throw new WorkerError('WORKER_SITE_UNSETTLED', `${site.config.id} keeps changing`)
      site.forget()
      return this.#serveDescribed(context, site, rematches + 1)
    })
  }

  #serve(request: SiteRequest): StageResult | Promise<StageResult> {
    const { context, site, app, target } = request
    if (context.plugins === undefined) return this.#serveRouted(request)
    const route = { site: site.config.id, kind: 'app', pattern: patternOf(app, target.path) } as const
    return afterRoute(context.plugins, route, () => this.#serveRouted(request))
  }

  #serveRouted(request: SiteRequest): StageResult {
    const { context, app, target } = request
    // Set before: a small file is sent and counted by the time the call returns.
    context.pathGroup = 'static'
    if (app.files.serve(context.asExchange(), target.path, wholeFileL0Of(request)) === 'served') return 'answered'
    context.pathGroup = 'other'
    this.#match(request, 0)
    return 'answered'
  }

  #match(request: SiteRequest, rematches: number): void {
    const { context, app, target } = request
    const match = app.routes.match(target.path)
    if (match?.redirect !== undefined) redirectTo(context, match.redirect)
    else if (match !== undefined) {
      const { route, params } = match
      context.pathGroup = route.pattern
      if (answersByItself(request, route)) return
      this.#answer(request, { kind: route.kind, route: route.id, params }, route.pattern, rematches)
    } else if (app.manifest.notFound !== null) {
      this.#answer(request, { kind: 'not-found', route: '', params: {} }, '', rematches)
    } else sendError(context, { status: 404, code: 'not_found' })
  }

  /** From the cache where the response may be in it, else by a render. */
  #answer(request: SiteRequest, plan: RenderPlan, pattern: string, rematches: number): void {
    const { context } = request
    const seen = context.plugins?.rendering(request.target.headers)
    if (!(seen instanceof Promise))
      this.#answerFor(seen === undefined ? request : withHeaders(request, seen), plan, pattern, rematches)
    else
      seen
        .then((headers) => this.#answerFor(withHeaders(request, headers), plan, pattern, rematches))
        .catch((error) => sendFailure(context, error))
  }

  #answerFor(request: SiteRequest, plan: RenderPlan, pattern: string, rematches: number): void {
    const { context, site } = request
    const matchAgain = () => this.#matchAgain(request, rematches)
    const fail = (error: Error) => {
      // The site's files changed between the match and the render, or did so too often: the next match takes its new manifest.
      if (isStaleManifest(error)) site.forget()
      if (isStaleManifest(error) && rematches < MAX_REMATCHES) this.#matchAgain(request, rematches + 1)
      else sendFailure(context, error)
    }
    const isr = this.#isr(context.generation.config)
    if (isr !== undefined && mayBeStored(request)) {
      isr.answer(new PageRequest(request, plan, pattern, { fail, matchAgain }))
      return
    }
    if (isr !== undefined) context.cacheStatus = isrStatus({ outcome: isPageMethod(context) ? 'bypass' : 'method' })
    const body = context.body.isPresent ? context.body : undefined
    context.enter('render')
    this.#renderer.render(renderRequestOf(request, plan), body, new ClientSink(context, { failed: fail }))
  }

  #matchAgain(request: SiteRequest, rematches: number): void {
    appOf(request.context, request.site)
      .then((app) => app && this.#match({ ...request, app }, rematches))
      .catch((error) => sendFailure(request.context, error))
  }
}

function patternOf({ routes }: SiteApp, path: string): string {
  const match = routes.match(path)
  return match === undefined || match.redirect !== undefined ? '' : match.route.pattern
}

/** The request with other fields for the code of its site. */
function withHeaders(request: SiteRequest, headers: SiteRequest['target']['headers']): SiteRequest {
  return { ...request, target: { ...request.target, headers } }
}

/** The application, or undefined when the client has left before it was at hand. */
function appOf(context: RequestContext, site: SiteRuntime): Promise<SiteApp | undefined> {
  return site.appFor((listener) => context.onClosed(listener), context.generation.config.render.queue_max)
}

/** Offers files to L0 under the tag of their path. */
function wholeFileL0Of({ context, target }: SiteRequest): WholeFileL0 {
  return {
    offer: (isCurrent) => offerPathToL0(context, target.path, { isCurrent }),
    unsent: (file) => context.fillL0(file),
  }
}

/** Answers requests that need no render: a route that two files claim, a method that pages do not have, a metadata file as it is. */
function answersByItself(request: SiteRequest, route: Route): boolean {
  const { context, site, app } = request
  if (route.problem !== undefined) {
    const detail = site.config.mode === 'development' ? { detail: route.problem } : {}
    sendError(context, { status: 500, code: 'route_conflict', ...detail })
  } else if (route.kind !== 'handler' && !isPageMethod(context)) {
    sendError(context, { status: 405, code: 'method_not_allowed' }, [['allow', 'GET, HEAD']])
  } else if (route.metadata !== null && route.metadata.contentType !== null) {
    app.files.serveFile(context.asExchange(), route.metadata.file, route.metadata.contentType, wholeFileL0Of(request))
  } else return false
  return true
}

function isPageMethod({ request: { method } }: RequestContext): boolean {
  return method === 'GET' || method === 'HEAD'
}

function redirectTo(context: RequestContext, path: string): void {
  const { query } = context.request
  context.respond({ status: 308, headers: [['location', query === '' ? path : `${path}?${query}`]] })
}

/**
 * Has a site's latest files take effect before a request is answered, in development mode. However many requests wait, one question
 * for each site is on its way to the master, and one waits for its end: it is sent after every request that waits for it.
 */
class LatestFiles {
  readonly #settle: (site: string) => Promise<void>
  readonly #asking = new Map<string, Promise<void>>()
  readonly #waiting = new Map<string, Promise<void>>()

  constructor(settle: (site: string) => Promise<void>) {
    this.#settle = settle
  }

  /** Resolves when every write before this call has taken effect. Never rejects: without the master the watcher still does its work. */
  settled(site: string): Promise<void> {
    const asking = this.#asking.get(site)
    if (asking === undefined) return this.#ask(site)
    const known = this.#waiting.get(site)
    if (known !== undefined) return known
    const next = asking.then(() => {
      this.#waiting.delete(site)
      return this.#ask(site)
    })
    this.#waiting.set(site, next)
    return next
  }

  #ask(site: string): Promise<void> {
    const ended = () => void this.#asking.delete(site)
    const asking = this.#settle(site).then(ended, ended)
    this.#asking.set(site, asking)
    return asking
  }
}
