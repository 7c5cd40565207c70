import { type ControlPlane, type Endpoint, type EndpointMatch, type EndpointResult, EndpointTable } from '@svc/admin'
import { sendError } from '../../request/error-response.ts'
import type { RequestContext } from '../../request/request-context.ts'
import { refuseLoop } from '../../request/request-loop.ts'
import type { Stage, StageResult } from '../../request/stage.ts'
import { isFromHostItself, mayCall, readEndpointRequest } from './endpoint-request.ts'
import type { SitePaths } from './site-paths.ts'

function send(context: RequestContext, answer: EndpointResult): StageResult {
  if ('problem' in answer) {
    sendError(context, answer.problem)
    return 'answered'
  }
  const headers: [string, string][] = [
    ['content-type', answer.contentType],
    ['cache-control', 'no-store'],
    ['x-content-type-options', 'nosniff'],
  ]
  context.respond({ status: answer.status, headers }, Buffer.from(answer.body))
  return 'answered'
}

const noRequest = Object.freeze({ params: {}, query: {}, body: {}, host: '' })

/** Answers the endpoints of the service itself: always below `/__svc/`, elsewhere unless the path belongs to the addressed site. */
export class BuiltinStage implements Stage {
  readonly name = 'builtin'
  readonly #plane: ControlPlane
  readonly #paths: SitePaths

  constructor(plane: ControlPlane, paths: SitePaths) {
    this.#plane = plane
    this.#paths = paths
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    if (refuseLoop(context)) return 'answered'
    const { method, path } = context.request
    const match = context.generation.endpoints.match(method, path)
    if (match === undefined) return 'next'
    if (EndpointTable.isReserved(path) || match.kind === 'unknown') return this.#answer(context, match)
    // Outside of the reserved space the service has pairs of method and path: the path with another method is the site's.
    if (match.kind === 'wrong-method') return 'next'
    // Nobody but the host itself is to know of these: to everybody else the path is the site's.
    if (match.endpoint.access === 'loopback') return isFromHostItself(context) ? this.#answer(context, match) : 'next'
    return this.#answerUnlessDefined(context, match)
  }

  /** The only place where a site goes before the service. A request that proves a role must be answered before it comes here. */
  #answerUnlessDefined(context: RequestContext, match: EndpointMatch): StageResult | Promise<StageResult> {
    const settle = (isDefined: boolean) => (isDefined ? 'next' : this.#answer(context, match))
    const defined = this.#paths.areDefined(context)
    return defined instanceof Promise ? defined.then(settle) : settle(defined)
  }

  #answer(context: RequestContext, match: EndpointMatch): StageResult | Promise<StageResult> {
    context.pathGroup = 'builtin'
    context.withdrawFromL0()
    if (match.kind === 'unknown') return send(context, context.generation.endpoints.unknownAnswer())
    if (!mayCall(context, match.endpoint)) {
      sendError(context, { status: 401, code: 'unauthorized' }, [['www-authenticate', 'Bearer']])
      return 'answered'
    }
    if (match.kind === 'wrong-method') {
      sendError(context, { status: 405, code: 'method_not_allowed' }, [['allow', match.allow]])
      return 'answered'
    }
    return this.#handle(context, match.endpoint, match.params)
  }

  #handle(
    context: RequestContext,
    endpoint: Endpoint,
    params: Readonly<Record<string, string>>,
  ): StageResult | Promise<StageResult> {
    context.isLogged = endpoint.isLogged
    // Probes read nothing of the request.
    if (endpoint.access === 'open') return this.#settle(context, endpoint.handle(this.#plane, noRequest))
    return readEndpointRequest(context, endpoint, params).then((read) => {
      if ('problem' in read) return send(context, read)
      // Calls to the master have limits of their own, and may take longer than a page: a rolling restart does.
      context.exchange.liftAnswerLimit()
      return this.#settle(context, endpoint.handle(this.#plane, read.request))
    })
  }

  #settle(context: RequestContext, answer: EndpointResult | Promise<EndpointResult>): StageResult | Promise<StageResult> {
    return answer instanceof Promise ? answer.then((value) => send(context, value)) : send(context, answer)
  }
}
