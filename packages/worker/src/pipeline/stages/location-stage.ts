import { decodePath, escapeUri, normalizePath } from '@svc/http'
import { sendError } from '../../request/error-response.ts'
import type { RequestContext } from '../../request/request-context.ts'
import type { Stage, StageResult } from '../../request/stage.ts'
import { LocationRun, RunState, type VhostRuntimes } from '../../vhost/index.ts'

/** Answers by the location of a vhost file that the path leads to. Requests of other sites are passed on. */
export class LocationStage implements Stage {
  readonly name = 'location'
  readonly #runtimes: VhostRuntimes
  readonly #app: Stage

  /** @param app answers where a location says `svc_app`, perhaps after an error of something else */
  constructor(runtimes: VhostRuntimes, app: Stage) {
    this.#runtimes = runtimes
    this.#app = app
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const { vhost } = context
    if (vhost === undefined) return 'next'
    const path = decodePath(context.request.rawPath)
    if (path === undefined) {
      sendError(context, { status: 400, code: 'bad_request' })
      return 'answered'
    }
    const sent = context.exchange.request
    // L0 uses the path, which has many spellings; rewriting and variables use the target as sent.
    if (sent.rawPath !== sent.path) context.withdrawFromL0()
    const runtime = this.#runtimes.of(context.generation)
    const state = new RunState(context, runtime.server(vhost.server), vhost, path)
    return new LocationRun(state, runtime.tools, this.#answerFromApp).start()
  }

  readonly #answerFromApp = (state: RunState, site: string): StageResult | Promise<StageResult> => {
    const { context } = state
    context.site = context.generation.sites.get(site)
    if (!state.isAsSent || state.method !== context.request.method) rewrite(context, state)
    if (context.site !== undefined && context.request.path.startsWith('/')) return this.#app.run(context)
    sendError(context, { status: 404, code: 'not_found' })
    return 'answered'
  }
}

/** The application sees the path that rewriting has led to, and GET where it shows an error. */
function rewrite(context: RequestContext, { uri, args, method }: RunState): void {
  const rawPath = escapeUri(uri)
  context.rewriteTo({ rawPath, path: normalizePath(rawPath) ?? '', query: args, method })
}
