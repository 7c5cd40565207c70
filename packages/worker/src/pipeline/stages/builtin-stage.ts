import { type ControlPlane, type Endpoint, type EndpointMatch, type EndpointResult, EndpointTable } from '@svc/admin'
import { withDeadline } from '@svc/core'
import type { SiteRuntime } from '../../generation/site-runtime.ts'
import { claimOf, type VhostRuntimes } from '../../vhost/index.ts'
import { sendError } from '../error-response.ts'
import type { RequestContext } from '../request-context.ts'
import type { Stage, StageResult } from '../stage.ts'
import { isFromHostItself, mayCall } from './endpoint-access.ts'
import { readEndpointRequest } from './endpoint-request.ts'
import { refuseLoop } from './request-loop.ts'

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

/** How long a probe waits for the routes of a site that is asked for the first time. */
const DESCRIBE_WAIT_MS = 1_000
const noRequest = Object.freeze({ params: {}, query: {}, body: {}, host: '' })

/** The static route or file of a site goes before an endpoint that lies outside of the reserved space. */
async function isOfSite(site: SiteRuntime | undefined, path: string): Promise<boolean> {
  if (site === undefined) return false
  // A site that cannot be described now defines nothing: a probe must be answered just then.
  const app = site.knownApp ?? (await withDeadline(site.app(), DESCRIBE_WAIT_MS, 'the routes of a site').catch(() => undefined))
  return app !== undefined && (app.files.has(path) || app.routes.isStaticRoute(path))
}

/** Whether the addressed site or server claims the path. */
async function siteDefines(context: RequestContext, vhosts: VhostRuntimes): Promise<boolean> {
  const { generation, client, request } = context
  const route = generation.route(request.listener, client.host)
  if (route?.vhost === undefined)
    return isOfSite(generation.hasVhosts ? route?.site : generation.siteOf(client.host), request.path)
  const claim = claimOf(context, route.vhost, vhosts.of(generation))
  return claim.kind === 'app' ? isOfSite(generation.sites.get(claim.site), request.path) : claim.kind === 'claimed'
}

/** Answers the endpoints of the service itself: always below `/__svc/`, elsewhere unless the path belongs to the addressed site. */
export class BuiltinStage implements Stage {
  readonly name = 'builtin'
  readonly #plane: ControlPlane
  readonly #vhosts: VhostRuntimes

  constructor(plane: ControlPlane, vhosts: VhostRuntimes) {
    this.#plane = plane
    this.#vhosts = vhosts
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
    return siteDefines(context, this.#vhosts).then((isDefined) => (isDefined ? 'next' : this.#answer(context, match)))
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
      // What the master is asked for has limits of its own, and may take longer than a page: a rolling restart does.
      context.exchange.liftAnswerLimit()
      return this.#settle(context, endpoint.handle(this.#plane, read.request))
    })
  }

  #settle(context: RequestContext, answer: EndpointResult | Promise<EndpointResult>): StageResult | Promise<StageResult> {
    return answer instanceof Promise ? answer.then((value) => send(context, value)) : send(context, answer)
  }
}
