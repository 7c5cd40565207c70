import { type ClientCertificate, decodePath, escapeUri, normalizePath } from '@svc/http'
import { MAINTENANCE_RETRY_SECS } from '@svc/protocol'
import { type ClientCheck, EARLY_FAULTS, hasEarlyPage } from '@svc/vhosts'
import type { VhostMatch } from '../../generation/host-routing.ts'
import type { ServingGeneration } from '../../generation/serving-generation.ts'
import { sendError } from '../../request/error-response.ts'
import { isPlainOnTls } from '../../request/plain-on-tls.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { rewrittenRequest } from '../../request/rewritten-request.ts'
import { LocationRun, RunState, type VhostRuntimes } from '../../vhost/index.ts'
import { PROOF_PREFIX } from './builtin-stage.ts'

/** Sends clients that ask with plain HTTP for a host that has a certificate to https, where `tls.redirect_http` says so. */
export class SecureStage implements Stage {
  readonly name = 'secure'

  isNeeded({ config }: ServingGeneration): boolean {
    return config.tls.redirect_http
  }

  run(context: RequestContext): StageResult {
    const { client, generation, exchange } = context
    if (client.scheme === 'https' || isPlainOnTls(context)) return 'next'
    const { target, path } = exchange.request
    if (path.startsWith(PROOF_PREFIX)) return 'next'
    const origin = generation.secureHosts.originOf(client.host)
    if (origin === undefined) return 'next'
    context.respond({ status: 308, headers: [['location', `${origin}${target}`]] })
    return 'answered'
  }
}

/**
 * Finds the site or the server of a vhost file by listen address and host name. A host that nothing claims goes to the default
 * of the address, else to the first one, as in nginx.
 */
export class VhostStage implements Stage {
  readonly name = 'vhost'
  readonly #locations: LocationStage

  /** @param locations shows the pages of errors that come before any location */
  constructor(locations: LocationStage) {
    this.#locations = locations
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const { generation, client } = context
    if (!generation.hasVhosts) {
      const site = generation.siteOf(client.host)
      if (site === undefined) return withoutSite(context)
      context.site = site
      return 'next'
    }
    const route = generation.route(context.exchange.request.listener, client.host)
    if (isPlainOnTls(context)) {
      context.vhost = route?.vhost
      return this.#refuse(context, EARLY_FAULTS.plainHttp, 'The plain HTTP request was sent to HTTPS port.')
    }
    if (route === undefined) return withoutSite(context)
    context.site = route.site
    context.vhost = route.vhost
    if (route.vhost === undefined) return limitBody(context)
    context.hidesCacheStatus = true
    const { clientCheck } = route.vhost.server
    return clientCheck === undefined ? 'next' : this.#checkClient(context, clientCheck)
  }

  /**
   * Refuses clients whose certificate a server does not accept, before anything else answers for it. The engine has refused requests
   * by connections that were secured for another server. What the server answers is never kept for others.
   */
  #checkClient(context: RequestContext, { mode }: ClientCheck): StageResult | Promise<StageResult> {
    context.withdrawFromL0()
    const { request } = context.exchange
    // As in nginx: an address without TLS is not concerned.
    if (request.scheme !== 'https') return 'next'
    const client = request.connection?.tls?.client
    if (client === undefined ? mode !== 'on' : mayPass(client, mode)) return 'next'
    return client === undefined
      ? this.#refuse(context, EARLY_FAULTS.noCertificate, 'No required SSL certificate was sent.')
      : this.#refuse(context, EARLY_FAULTS.certificate, 'The SSL certificate is not valid.')
  }

  #refuse(context: RequestContext, fault: number, detail: string): StageResult | Promise<StageResult> {
    const { vhost } = context
    if (vhost !== undefined && hasEarlyPage(vhost.server, fault)) return this.#locations.refuse(context, vhost, fault)
    context.hasPlainErrors = true
    const plainHttp = { status: 400, code: 'plain_http' }
    const clientCertificate = { status: 400, code: 'client_certificate' }
    sendError(context, { ...(fault === EARLY_FAULTS.plainHttp ? plainHttp : clientCertificate), detail })
    return 'answered'
  }
}

function mayPass({ verify, isOfUnknownAuthority }: ClientCertificate, mode: ClientCheck['mode']): boolean {
  return verify === 'SUCCESS' || (mode === 'optional_no_ca' && isOfUnknownAuthority)
}

/** The engine lets the largest body through that any location takes; sites have their own limit. */
function limitBody(context: RequestContext): StageResult {
  const { generation } = context
  const limit = generation.config.server.max_body_bytes
  if (generation.maxBodyBytes <= limit || context.body.limit(limit)) return 'next'
  sendError(context, { status: 413, code: 'body_too_large' })
  return 'answered'
}

/** A rule may send a request on that no site claims. */
function withoutSite(context: RequestContext): StageResult {
  return context.generation.config.route_rules.length === 0 ? noSite(context) : 'next'
}

/** Answers where nothing is served. */
export function noSite(context: RequestContext): StageResult {
  sendError(context, { status: 404, code: 'no_site', detail: 'No site is configured on this server.' })
  return 'answered'
}

/** Answers every request to a site in maintenance. */
export class MaintenanceStage implements Stage {
  readonly name = 'maintenance'

  isNeeded({ spec }: ServingGeneration): boolean {
    return spec.sites.some(({ maintenance }) => maintenance !== false)
  }

  run(context: RequestContext): StageResult {
    const order = context.site?.config.maintenance ?? false
    if (order === false) return 'next'
    const { message, retry_after_secs: seconds = MAINTENANCE_RETRY_SECS } = order === true ? {} : order
    context.withdrawFromL0()
    const detail = message ?? 'This site is down for maintenance. Please try again later.'
    sendError(context, { status: 503, code: 'maintenance', title: 'Down for maintenance', detail }, [
      ['retry-after', `${seconds}`],
    ])
    return 'answered'
  }
}

/**
 * Says if slashes of a path are merged. As with nginx, which reads the path before it knows the host, the server of the TLS
 * handshake decides, or else the default server of the address: a location that protects a path must see it as there.
 */
function mergesSlashes({ generation, exchange: { request } }: RequestContext, { server }: VhostMatch): boolean {
  if (generation.alwaysMergesSlashes) return true
  // The engine does not know the name of the handshake: it is nearly always that of the request.
  if (request.scheme === 'https' && request.serverName === undefined) return server.mergesSlashes
  const first = generation.route(request.listener, request.serverName ?? '')?.vhost
  return (first?.server ?? server).mergesSlashes
}

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

  isNeeded({ hasVhosts }: ServingGeneration): boolean {
    return hasVhosts
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const { vhost } = context
    if (vhost === undefined) return 'next'
    const path = decodePath(context.request.rawPath, mergesSlashes(context, vhost))
    if (path === undefined) {
      context.hasPlainErrors = vhost.server.fallback.content.kind !== 'app'
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

  /** Shows the page of a fault that was found before any location. */
  refuse(context: RequestContext, vhost: VhostMatch, fault: number): StageResult | Promise<StageResult> {
    const path = decodePath(context.request.rawPath, mergesSlashes(context, vhost)) ?? { path: '/', isQuoted: false }
    const runtime = this.#runtimes.of(context.generation)
    const state = new RunState(context, runtime.server(vhost.server), vhost, path)
    return new LocationRun(state, runtime.tools, this.#answerFromApp).refuse(fault)
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
  const path = normalizePath(rawPath) ?? ''
  context.request = rewrittenRequest(context.request, { rawPath, path, query: args, method })
}
