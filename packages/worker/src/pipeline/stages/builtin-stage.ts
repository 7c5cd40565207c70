import {
  type ControlPlane,
  type Endpoint,
  type EndpointEvents,
  type EndpointFile,
  type EndpointMatch,
  type EndpointRequest,
  type EndpointResult,
  EndpointTable,
  planeOfTenant,
} from '@svc/admin'
import { anonymous, type Caller } from '@svc/auth'
import { type Clock, withDeadline } from '@svc/core'
import { type HeaderList, noBody, normalizePath, type PathCaptures, problemOf, type RuleTable } from '@svc/http'
import type { RevocationList } from '../../access/revocation-list.ts'
import { type HostRoute, hostnameOf } from '../../generation/host-routing.ts'
import type { SiteRuntime } from '../../generation/site-runtime.ts'
import { sendError } from '../../request/error-response.ts'
import { isPlainOnTls } from '../../request/plain-on-tls.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { refuseLoop } from '../../request/request-loop.ts'
import { type CompiledRule, decidingRule, type RuleTables, rulePathOf } from '../../route-rules/rule-tables.ts'
import { claimOf, type VhostRuntimes } from '../../vhost/index.ts'
import { AuditTrail } from '../endpoints/audit-trail.ts'
import { callerOf, identify, isForPanelHost, isFromMachine, refusalOf } from '../endpoints/endpoint-access.ts'
import { sendEndpointFile } from '../endpoints/endpoint-file.ts'
import { readEndpointRequest } from '../endpoints/endpoint-request.ts'
import { EventAnswers } from '../endpoints/event-answers.ts'
import { PANEL } from './panel-host-stage.ts'

/** Proof of control over a host is requested with plain HTTP (RFC 8555 section 8.3). */
export const PROOF_PREFIX = '/.well-known/acme-challenge/'

/** Answers a certificate authority that checks if a host is ours (RFC 8555 section 8.3), while an order is open. */
export class ProofStage implements Stage {
  readonly name = 'proof'
  readonly #proofs: ReadonlyMap<string, string>

  /** @param proofs by token; may change */
  constructor(proofs: ReadonlyMap<string, string>) {
    this.#proofs = proofs
  }

  run(context: RequestContext): StageResult {
    if (this.#proofs.size === 0) return 'next'
    const { method, path } = context.request
    if (!path.startsWith(PROOF_PREFIX) || (method !== 'GET' && method !== 'HEAD')) return 'next'
    const proof = this.#proofs.get(path.slice(PROOF_PREFIX.length))
    // Another program may prove the same host by files of the site.
    if (proof === undefined) return 'next'
    context.pathGroup = 'builtin'
    context.withdrawFromL0()
    const headers = [
      ['content-type', 'application/octet-stream'],
      ['cache-control', 'no-store'],
    ] as const
    context.respond({ status: 200, headers }, Buffer.from(proof))
    return 'answered'
  }
}

type PlainResult = Exclude<EndpointResult, EndpointEvents | EndpointFile>

/** @param isList it may be long, and is compressed */
function send(context: RequestContext, answer: PlainResult, isList = false): StageResult {
  if ('problem' in answer) {
    sendError(context, answer.problem, answer.headers)
    return 'answered'
  }
  const headers: HeaderList = [
    ['content-type', answer.contentType],
    ['cache-control', 'no-store'],
    ['x-content-type-options', 'nosniff'],
    ...(answer.headers ?? []),
  ]
  const head = { status: answer.status, headers }
  if (isList) context.respondCompressed(head, Buffer.from(answer.body))
  else context.respond(head, Buffer.from(answer.body))
  return 'answered'
}

/** A browser without a session is sent to the page that begins one, and from there to its page. */
function toLogin(context: RequestContext): StageResult {
  const { path, query } = context.request
  const page = query === '' ? path : `${path}?${query}`
  const next = page === PANEL ? '' : `?next=${encodeURIComponent(page)}`
  const headers = [
    ['location', `${PANEL}/login${next}`],
    ['cache-control', 'no-store'],
  ] as const
  context.respond({ status: 303, headers })
  return 'answered'
}

type EndpointFound = Extract<EndpointMatch, { readonly kind: 'endpoint' }>

const noRequest: EndpointRequest<unknown, unknown> = Object.freeze({
  params: {},
  query: {},
  body: {},
  content: noBody,
  host: '',
  caller: anonymous,
  client: { address: '', userAgent: '', isSecure: false, isAdminHost: false },
})

/** Probes are not rate limited. */
export function isProbe({ group }: Endpoint): boolean {
  return group === 'health' || group === 'metrics'
}

/** Dependencies of the stage of the built-in endpoints. */
interface BuiltinParts {
  readonly plane: ControlPlane
  readonly revocations: RevocationList
  readonly vhosts: VhostRuntimes
  readonly rules: RuleTables
  readonly clock: Pick<Clock, 'after'>
}

/** Answers the endpoints of the service itself: always below `/__svc/`, elsewhere unless the path belongs to the addressed site. */
export class BuiltinStage implements Stage {
  readonly name = 'builtin'
  readonly #plane: ControlPlane
  readonly #revocations: RevocationList
  readonly #audit: AuditTrail
  readonly #events: EventAnswers
  readonly #paths: SitePaths

  constructor({ plane, revocations, vhosts, rules, clock }: BuiltinParts) {
    this.#plane = plane
    this.#revocations = revocations
    this.#audit = new AuditTrail(plane.audit)
    this.#events = new EventAnswers({ revocations, clock, generation: () => plane.sites.generation() })
    this.#paths = new SitePaths(vhosts, rules)
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    if (refuseLoop(context)) return 'answered'
    if (isPlainOnTls(context)) return 'next'
    const { method, path } = context.request
    const match = context.generation.endpoints.match(method, path)
    if (match === undefined) return 'next'
    if (EndpointTable.isReserved(path) || match.kind === 'unknown') return this.#answer(context, match)
    // Outside of the reserved space the service has pairs of method and path: the path with another method is the site's.
    if (match.kind === 'wrong-method') return 'next'
    if (context.request.header('authorization') === undefined) return this.#answerUnlessSites(context, match)
    return identify(context, this.#revocations).then((caller) => {
      // A token of ours must not reach a site, even one that counts no more.
      const isOurs = caller.kind === 'user' || (caller.kind === 'anonymous' && caller.token !== 'none')
      return isOurs ? this.#answer(context, match) : this.#answerUnlessSites(context, match)
    })
  }

  /** The only place where a site goes before the service. */
  #answerUnlessSites(context: RequestContext, match: EndpointFound): StageResult | Promise<StageResult> {
    // Only the machine itself may see these: for all others the path is the site's.
    if (match.endpoint.access === 'loopback') return isFromMachine(context) ? this.#answer(context, match) : 'next'
    if (isForPanelHost(context)) return this.#answer(context, match)
    const settle = (isDefined: boolean) => (isDefined ? 'next' : this.#answer(context, match))
    const defined = this.#paths.areDefined(context)
    return defined instanceof Promise ? defined.then(settle) : settle(defined)
  }

  #answer(context: RequestContext, match: EndpointMatch): StageResult | Promise<StageResult> {
    context.pathGroup = 'builtin'
    context.withdrawFromL0()
    if (match.kind === 'unknown') return send(context, context.generation.endpoints.unknownAnswer(context.requestId))
    if (match.kind === 'wrong-method') {
      const detail = `this path has the methods ${match.allow}`
      sendError(context, { status: 405, code: 'method_not_allowed', detail }, [['allow', match.allow]])
      return 'answered'
    }
    const { endpoint } = match
    const isElsewhere = endpoint.isPage === true && !context.generation.isAdminHost(context.client.host)
    if (isElsewhere) return send(context, context.generation.endpoints.unknownAnswer(context.requestId))
    context.isLogged = endpoint.isLogged ?? true
    if (isProbe(endpoint)) return this.#probe(context, endpoint)
    const caller = callerOf(context, endpoint, this.#revocations)
    return caller instanceof Promise
      ? caller.then((found) => this.#call(context, match, found))
      : this.#call(context, match, caller)
  }

  /** Probes read nothing of the request, and stay synchronous where they can. */
  #probe(context: RequestContext, endpoint: Endpoint): StageResult | Promise<StageResult> {
    // None of them sends events.
    const answer = endpoint.handle(this.#plane, noRequest) as PlainResult | Promise<PlainResult>
    return answer instanceof Promise ? answer.then((value) => send(context, value)) : send(context, answer)
  }

  async #call(context: RequestContext, { endpoint, params }: EndpointFound, caller: Caller): Promise<StageResult> {
    const call = { context, endpoint, caller, params }
    const refusal = refusalOf(context, endpoint, caller)
    if (refusal !== undefined) {
      if (endpoint.isPage === true && refusal.status === 401) return toLogin(context)
      await this.#audit.ended({ ...call, result: { problem: refusal } })
      sendError(context, refusal, refusal.status === 401 ? [['www-authenticate', 'Bearer']] : [])
      return 'answered'
    }
    const read = await readEndpointRequest(context, { endpoint, params, caller })
    if ('problem' in read) {
      // Anyone may send a malformed login.
      if (caller.kind === 'user' && endpoint.method !== 'GET') await this.#audit.ended({ ...call, result: read })
      return send(context, read)
    }
    // Calls to the master have limits of their own, and may take longer than a page: a rolling restart does.
    context.exchange.liftAnswerLimit()
    if (endpoint.isUpload === true) context.exchange.liftBodyLimit()
    try {
      const result = await endpoint.handle(this.#planeFor(caller), read.request)
      await this.#audit.ended({ ...call, request: read.request, result })
      if ('file' in result) return await sendEndpointFile(context, result)
      // An answer to a change may have a token in it, which the length of a compressed answer could betray.
      if (!('events' in result)) return send(context, result, endpoint.method === 'GET')
      this.#events.answer(context, endpoint, caller, result)
      return 'answered'
    } catch (error) {
      await this.#audit.ended({ ...call, request: read.request, result: { problem: problemOf(error) } })
      throw error
    }
  }

  #planeFor(caller: Caller): ControlPlane {
    if (caller.kind !== 'user' || caller.user.role !== 'tenant_admin') return this.#plane
    // A tenant_admin without a tenant is refused by the check of the configuration: such a user has no sites.
    return planeOfTenant(this.#plane, caller.user.tenantId ?? '')
  }
}

/** Time that a probe waits for the routes of a site at its first request. */
const DESCRIBE_WAIT_MS = 1_000

type Answer = boolean | Promise<boolean>
type Target = Pick<HostRoute, 'site' | 'vhost'>

/** A path as it was sent, and normalised. */
interface AskedPath {
  readonly rawPath: string
  readonly path: string
}

/** Knows which paths the addressed site defines itself: those go before an endpoint that lies outside of the reserved space. */
class SitePaths {
  readonly #vhosts: VhostRuntimes
  readonly #rules: RuleTables

  constructor(vhosts: VhostRuntimes, rules: RuleTables) {
    this.#vhosts = vhosts
    this.#rules = rules
  }

  /**
   * Returns true if the site that a request is for defines its path: by a route rule, a static route, a file, or a location that
   * proxies or runs something.
   */
  areDefined(context: RequestContext): Answer {
    const { generation, client, request } = context
    const target: Target = generation.hasVhosts
      ? (generation.route(request.listener, client.host) ?? { site: undefined, vhost: undefined })
      : { site: generation.siteOf(client.host), vhost: undefined }
    const rules = this.#rules.of(generation, target.site)
    return rules.length === 0 ? this.#isTargets(context, target, request) : this.#afterRules(context, target, rules)
  }

  #afterRules(context: RequestContext, target: Target, rules: readonly RuleTable<CompiledRule>[]): Answer {
    const { request, client } = context
    const path = rulePathOf(context, target.vhost)
    // The rules refuse a path that they cannot read.
    if (path === undefined) return true
    const match = decidingRule(rules, { path, hostname: hostnameOf(client.host), method: request.method })
    if (match === undefined) return this.#isTargets(context, target, request)
    const { act } = match.rule
    if (act.kind !== 'rewrite' || areEmpty(match.captures)) return true
    // A rule that moves many paths is a catch-all: its target decides.
    const [rawPath = ''] = act.target(match.captures, '').split('?')
    return this.#isTargets(context, target, { rawPath, path: normalizePath(rawPath) ?? '' })
  }

  #isTargets(context: RequestContext, { site, vhost }: Target, { rawPath, path }: AskedPath): Answer {
    if (vhost === undefined) return isOfSite(site, path)
    const claim = claimOf(context, rawPath, vhost, this.#vhosts.of(context.generation))
    return claim.kind === 'app' ? isOfSite(context.generation.sites.get(claim.site), claim.path) : claim.kind === 'claimed'
  }
}

function areEmpty({ names, wildcards, rest }: PathCaptures): boolean {
  return names.size === 0 && wildcards.length === 0 && rest === undefined
}

function isOfSite(site: SiteRuntime | undefined, path: string): Answer {
  if (site === undefined) return false
  const isDefined = (app: SiteRuntime['knownApp']) => app !== undefined && (app.files.has(path) || app.routes.isStaticRoute(path))
  if (site.knownApp !== undefined) return isDefined(site.knownApp)
  // A site that cannot be described now defines nothing: a probe must be answered just then.
  const described = withDeadline(site.app(), DESCRIBE_WAIT_MS, 'the routes of a site')
  return described.catch(() => undefined).then(isDefined)
}
