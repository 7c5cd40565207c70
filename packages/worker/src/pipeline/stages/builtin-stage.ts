import { type ControlPlane, type Endpoint, type EndpointAnswer, EndpointTable } from '@svc/admin'
import { withDeadline } from '@svc/core'
import { sendError } from '../error-response.ts'
import type { RequestContext } from '../request-context.ts'
import type { Stage, StageResult } from '../stage.ts'

function send(context: RequestContext, answer: EndpointAnswer): void {
  const headers: [string, string][] = [
    ['content-type', answer.contentType],
    ['cache-control', 'no-store'],
    ['x-content-type-options', 'nosniff'],
  ]
  context.respond({ status: answer.status, headers }, Buffer.from(answer.body))
}

/** How long a probe waits for the routes of a site that is asked for the first time. */
const DESCRIBE_WAIT_MS = 1_000

/** The static route or file of the addressed site goes before an endpoint that lies outside of the reserved space. */
async function siteDefines(context: RequestContext): Promise<boolean> {
  const site = context.generation.siteOf(context.client.host)
  if (site === undefined) return false
  // A site that cannot be described now defines nothing: a probe must be answered just then.
  const app = site.knownApp ?? (await withDeadline(site.app(), DESCRIBE_WAIT_MS, 'the routes of a site').catch(() => undefined))
  const { path } = context.request
  return app !== undefined && (app.files.has(path) || app.routes.isStaticRoute(path))
}

/** Answers the endpoints of the service itself: always below `/__svc/`, elsewhere unless the addressed site defines the path. */
export class BuiltinStage implements Stage {
  readonly name = 'builtin'
  readonly #plane: ControlPlane

  constructor(plane: ControlPlane) {
    this.#plane = plane
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const { method, path } = context.request
    const match = context.generation.endpoints.match(method, path)
    if (match === undefined) return 'next'
    if (EndpointTable.isReserved(path)) return this.#answer(context, match)
    return siteDefines(context).then((isDefined) => (isDefined ? 'next' : this.#answer(context, match)))
  }

  #answer(context: RequestContext, match: NonNullable<ReturnType<EndpointTable['match']>>): StageResult | Promise<StageResult> {
    context.pathGroup = 'builtin'
    switch (match.kind) {
      case 'unknown':
        send(context, context.generation.endpoints.unknownAnswer())
        return 'answered'
      case 'wrong-method':
        sendError(context, { status: 405, code: 'method_not_allowed' }, [['allow', match.allow]])
        return 'answered'
      case 'endpoint':
        return this.#handle(context, match.endpoint)
    }
  }

  #handle(context: RequestContext, endpoint: Endpoint): StageResult | Promise<StageResult> {
    context.isLogged = endpoint.isLogged
    const answer = endpoint.handle(this.#plane)
    if (!(answer instanceof Promise)) {
      send(context, answer)
      return 'answered'
    }
    return answer.then((value) => {
      send(context, value)
      return 'answered'
    })
  }
}
