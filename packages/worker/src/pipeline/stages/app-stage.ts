import { responseTags } from '@svc/cache'
import type { Config } from '@svc/config'
import type { Route } from '@svc/site'
import { WorkerError } from '../../errors/errors.ts'
import type { SiteApp, SiteRuntime } from '../../generation/site-runtime.ts'
import type { IsrCache } from '../../isr/isr-cache.ts'
import { isrStatus } from '../../isr/stored-sender.ts'
import type { Renderer } from '../../render-client/renderer.ts'
import { isStaleManifest } from '../../render-client/renderer.ts'
import { ClientSink } from '../../request/client-sink.ts'
import { sendError, sendFailure } from '../../request/error-response.ts'
import type { RequestContext } from '../../request/request-context.ts'
import { conditionFacts } from '../../request/site-request.ts'
import type { Stage, StageResult } from '../../request/stage.ts'
import type { WholeFileL0 } from '../../static/index.ts'
import type { AppExchange } from './app-exchange.ts'
import { type RenderPlan, renderRequestOf } from './app-exchange.ts'
import { pageRequestOf } from './app-page-request.ts'
import type { LatestFiles } from './latest-files.ts'
import { recallMiddleware, runMiddleware } from './middleware-step.ts'

/** The cache as far as a configuration wants it; undefined: nothing is stored. */
export type IsrOf = (config: Config) => IsrCache | undefined

/** How often a match is repeated because the site changed between match and render. */
const MAX_REMATCHES = 3
const PAGE_METHODS = new Set(['GET', 'HEAD'])

/** Answers from the application of a site: middleware, public files, routes, not-found. */
export class AppStage implements Stage {
  readonly name = 'app'
  readonly #renderer: Renderer
  readonly #isr: IsrOf
  readonly #latest: LatestFiles

  constructor(renderer: Renderer, isr: IsrOf, latest: LatestFiles) {
    this.#renderer = renderer
    this.#isr = isr
    this.#latest = latest
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
    const exchange: AppExchange = { context, site, app, target: { path, url: undefined, headers: undefined } }
    if (app.middleware?.(path, conditionFacts(context)) !== true) return this.#serve(exchange)
    // It may treat GET in another way, and a response to HEAD enters L0 as that to GET.
    if (context.request.method === 'HEAD') context.withdrawFromL0()
    if (recallMiddleware(exchange)) return this.#serve(exchange)
    return runMiddleware(exchange, this.#renderer).then((next) => {
      if (next === 'answered') return next
      if (next !== 'stale') return this.#serve({ ...exchange, target: next })
      if (rematches === MAX_REMATCHES) throw new WorkerError('WORKER_SITE_UNSETTLED', `${site.config.id} keeps changing`)
      site.forget()
      return this.#serveDescribed(context, site, rematches + 1)
    })
  }

  #serve(exchange: AppExchange): StageResult {
    const { context, app, target } = exchange
    // Set before: a small file is sent and counted by the time the call returns.
    context.pathGroup = 'static'
    if (app.files.serve(context.asExchange(), target.path, wholeFileL0Of(exchange)) === 'served') return 'answered'
    context.pathGroup = 'other'
    this.#match(exchange, 0)
    return 'answered'
  }

  #match(exchange: AppExchange, rematches: number): void {
    const { context, app, target } = exchange
    const match = app.routes.match(target.path)
    if (match?.redirect !== undefined) redirectTo(context, match.redirect)
    else if (match !== undefined) {
      const { route, params } = match
      context.pathGroup = route.pattern
      if (!answersByItself(exchange, route))
        this.#answer(exchange, { kind: route.kind, route: route.id, params }, route, rematches)
    } else if (app.manifest.notFound !== null) {
      this.#answer(exchange, { kind: 'not-found', route: '', params: {} }, undefined, rematches)
    } else sendError(context, { status: 404, code: 'not_found' })
  }

  /** From the cache where the response may be in it, else by a render. */
  #answer(exchange: AppExchange, plan: RenderPlan, route: Route | undefined, rematches: number): void {
    const { context } = exchange
    const body = context.body.isPresent ? context.body : undefined
    const fail = (error: Error) => {
      if (isStaleManifest(error) && rematches < MAX_REMATCHES) this.#rematch(exchange, rematches + 1)
      else this.#failed(exchange, error)
    }
    const isr = this.#isr(context.generation.config)
    const request = isr && pageRequestOf(exchange, plan, route, { fail, matchAgain: () => this.#matchAgain(exchange, rematches) })
    if (isr !== undefined && request !== undefined) isr.answer(request)
    else {
      if (isr !== undefined) context.cacheStatus = isrStatus({ outcome: bypassOf(context.request.method) })
      this.#renderer.render(renderRequestOf(exchange, plan), body, new ClientSink(context, { failed: fail }))
    }
  }

  /** A manifest that is out of date must not meet the client again when it repeats its request. */
  #failed({ context, site }: AppExchange, error: Error): void {
    if (isStaleManifest(error)) site.forget()
    sendFailure(context, error)
  }

  /** The site's files changed between the match and the render: match again with its new manifest. */
  #rematch(exchange: AppExchange, rematches: number): void {
    exchange.site.forget()
    this.#matchAgain(exchange, rematches)
  }

  #matchAgain(exchange: AppExchange, rematches: number): void {
    appOf(exchange.context, exchange.site)
      .then((app) => app && this.#match({ ...exchange, app }, rematches))
      .catch((error) => sendFailure(exchange.context, error))
  }
}

/** The application, or undefined when the client has left before it was at hand. */
function appOf(context: RequestContext, site: SiteRuntime): Promise<SiteApp | undefined> {
  return site.appFor((listener) => context.onClosed(listener), context.generation.config.render.queue_max)
}

/** Offers files to L0 under the tag of their path. */
function wholeFileL0Of({ context, site, target }: AppExchange): WholeFileL0 {
  return {
    offer(isCurrent) {
      const { label } = site.config
      const { path } = target
      const tags = responseTags(label, path, '', [])
      return context.offerToL0({
        expiresAt: Number.POSITIVE_INFINITY,
        label,
        path,
        tags,
        dependsOnCookies: false,
        isCurrent,
      })
    },
    unsent: (file) => context.fillL0(file),
  }
}

/** Answers requests that need no render: a route that two files claim, a method that pages do not have, a metadata file as it is. */
function answersByItself(exchange: AppExchange, route: Route): boolean {
  const { context, site, app } = exchange
  if (route.problem !== undefined) {
    const detail = site.config.mode === 'development' ? { detail: route.problem } : {}
    sendError(context, { status: 500, code: 'route_conflict', ...detail })
  } else if (route.kind !== 'handler' && !PAGE_METHODS.has(context.request.method)) {
    sendError(context, { status: 405, code: 'method_not_allowed' }, [['allow', 'GET, HEAD']])
  } else if (route.metadata !== null && route.metadata.contentType !== null) {
    app.files.serveFile(context.asExchange(), route.metadata.file, route.metadata.contentType, wholeFileL0Of(exchange))
  } else return false
  return true
}

function bypassOf(method: string): 'method' | 'bypass' {
  return method === 'GET' || method === 'HEAD' ? 'bypass' : 'method'
}

function redirectTo(context: RequestContext, path: string): void {
  const { query } = context.request
  context.respond({ status: 308, headers: [['location', query === '' ? path : `${path}?${query}`]] })
}
